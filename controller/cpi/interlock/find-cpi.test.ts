import t from 'tap'
import { Secret } from '../../config/secret.ts'
import type { ReadSources } from './container-environment.ts'
import { DEFAULT_LEASE, findManagers, handlesNodes } from './find-cpi.ts'
import { cpiObject } from './testing/cpi-object.ts'
import { parseWorkload, type Workload } from './workloads.ts'

function workload(args: readonly string[], changes: Parameters<typeof cpiObject>[1] = {}): Workload {
  const parsed = parseWorkload('DaemonSet', cpiObject(args, changes))
  if (parsed === undefined) throw new Error('it is no workload')
  return parsed
}

const cpi = (args: readonly string[], changes: Parameters<typeof cpiObject>[1] = {}) =>
  findManagers([workload(args, changes)]).cpi[0]

t.test('the CPI is told by image, command or arguments, and from other clouds', async (t) => {
  t.match(cpi(['--v=2']), {
    kind: 'DaemonSet',
    namespace: 'kube-system',
    name: 'cpi',
    lease: DEFAULT_LEASE,
    controllers: { node: true, lifecycle: true },
  })
  const image = 'example.com/ccm:1'
  t.ok(cpi(['--cloud-provider', 'vsphere'], { image }))
  t.ok(cpi([], { image, command: ['/bin/vsphere-cloud-controller-manager'] }))
  const none = (args: readonly string[], changes: Parameters<typeof cpiObject>[1]) =>
    findManagers([workload(args, changes)])
  t.match(none([], { image: 'example.com/aws-cloud-controller-manager:1' }), { cpi: [], others: [{}] })
  t.match(none(['--cloud-provider=own'], { image: 'own:1' }), { cpi: [], others: [{}] })
  t.same(none(['--provider=vsphere'], { image: 'nginx' }), { cpi: [], others: [] })
  t.same(none(['--cloud-provider=external'], { image: 'kube-controller-manager:1' }), { cpi: [], others: [] })
  for (const image of [
    'registry.example.com/cloud-pv-vsphere/cloud-provider-vsphere:v1.36.0',
    'registry.example.com/cloud-provider-vsphere/cpi/release/manager:v1.27.0',
    'registry.example.com/mirrored-cloud-provider-vsphere-cpi-release-manager:v1.27.0',
  ])
    t.ok(cpi([], { image }), image)
  for (const image of [
    'registry.example.com/cloud-provider-vsphere/csi/release/driver:v3.1.2',
    'registry.example.com/mirrored-cloud-provider-vsphere-csi-release-syncer:v3.1.2',
    'registry.example.com/csi-vsphere/driver:v3.3.1',
  ])
    t.same(none(['--v=4'], { image }), { cpi: [], others: [] }, `${image} is the CSI driver's`)
  t.equal(parseWorkload('Deployment', { metadata: {} }), undefined)
})

t.test('this controller is not taken for it, whatever its image is called', async (t) => {
  const args = ['--cloud-provider=vsphere', '--leader-elect=false']
  for (const own of [
    { name: 'rollcall-controller' },
    { account: 'rollcall-controller' },
    { image: 'a/rollcall:1' },
  ])
    t.equal(cpi(args, { image: 'example.com/ccm:1', ...own }), undefined)
})

t.test('its Lease is what the arguments say', async (t) => {
  for (const off of ['--leader-elect=false', '--leader-elect=F', '--leader_elect=0'])
    t.same(cpi([off])?.lease, undefined, off)
  t.same(cpi(['--leader-elect', '--v=2'])?.lease, DEFAULT_LEASE)
  t.same(cpi(['--leader-elect-resource-name=a', '--leader_elect_resource_namespace', 'b'])?.lease, {
    namespace: 'b',
    name: 'a',
  })
})

t.test('arguments in a script of a shell count as well', async (t) => {
  const script = `set -o allexport
exec /bin/vsphere-cloud-controller-manager \\
  --cloud-provider=vsphere --controllers='*,-cloud-node-lifecycle' \\
  --leader-elect-resource-namespace=cloud --leader-elect-resource-name "own"`
  t.match(cpi([script], { image: 'example.com/ccm:1', command: ['/bin/bash', '-c'] }), {
    lease: { namespace: 'cloud', name: 'own' },
    controllers: { node: true, lifecycle: false },
  })
  t.equal(cpi(['--node-labels=a=b --cloud-provider=aws'])?.flags.nodeLabels, 'a=b --cloud-provider=aws')
  const run = (text: string) => cpi([text], { image: 'example.com/ccm:1', command: ['sh', '-c'] })
  const all = { node: true, lifecycle: true }
  const commented = run('exec ccm --cloud-provider=vsphere\n# later: --controllers=service,route')
  t.match(commented, { controllers: all }, 'a comment is no argument')
  t.equal(run('exec nginx\n# was: --cloud-provider=vsphere'), undefined)
  t.equal(run('ccm --cloud-provider=vsphere --leader-elect=false; exit 0')?.lease, undefined)
  t.match(run('ccm --cloud-provider \\\n vsphere --controllers \\\n service'), {
    controllers: { node: false, lifecycle: false },
  })
  const branches =
    'a && exec ccm --cloud-provider=vsphere\nexec ccm --cloud-provider=vsphere --controllers=service'
  t.match(run(branches), { controllers: all }, 'either command may run')
})

t.test('variables in arguments and scripts have their values, as with OpenShift', async (t) => {
  const env = [
    { name: 'CLOUD_CONFIG', value: '/etc/kubernetes-cloud-config/cloud.conf' },
    { name: 'INFRASTRUCTURE_NAME', value: 'cluster-x7k2p' },
    { name: 'CLUSTER', value: '$(INFRASTRUCTURE_NAME)' },
    { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
  ]
  const volumes = [
    { name: 'config', configMap: { name: 'cloud-conf', items: [{ key: 'cloud.conf', path: 'cloud.conf' }] } },
  ]
  const volumeMounts = [{ name: 'config', mountPath: '/etc/kubernetes-cloud-config' }]
  const script = `#!/bin/bash
set -o allexport
if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
  source /etc/kubernetes/apiserver-url.env
fi
exec /bin/vsphere-cloud-controller-manager \\
  --cloud-config=$(CLOUD_CONFIG) \\
  --cloud-provider=vsphere --controllers=* \\
  --cluster-name=\${CLUSTER} --node-labels=a=$CLUSTER \\
  --leader-elect-resource-namespace=$(NAMESPACE)`
  const command = ['/bin/bash', '-c', script]
  t.match(cpi([], { image: 'ccm:1', command, env, volumes, volumeMounts }), {
    flags: {
      cloudConfig: '/etc/kubernetes-cloud-config/cloud.conf',
      clusterName: 'cluster-x7k2p',
      nodeLabels: 'a=cluster-x7k2p',
    },
    config: { kind: 'configmap', name: 'cloud-conf', key: 'cloud.conf' },
    lease: { namespace: '$NAMESPACE' },
  })
  const args = ['--cloud-config=$(CLOUD_CONFIG)', '--cluster-name=$$(CLUSTER)-$(NONE)', '--v=$CLUSTER']
  t.match(cpi(args, { env, volumes, volumeMounts }), {
    flags: { cloudConfig: '/etc/kubernetes-cloud-config/cloud.conf', clusterName: '$(CLUSTER)-$(NONE)' },
  })
  t.match(cpi(['--controllers=$(NONE)']), { controllers: { node: true, lifecycle: true } }, 'it may be any')
})

t.test('variables from ConfigMaps and Secrets, once those are read', async (t) => {
  const env = [
    { name: 'CONTROLLERS', valueFrom: { configMapKeyRef: { name: 'own', key: 'controllers' } } },
    { name: 'VSPHERE_PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
    { name: 'TWICE', value: 'the last one' },
  ]
  const envFrom = [{ prefix: 'A_', configMapRef: { name: 'more' } }, { secretRef: { name: 'all' } }]
  const object = cpiObject(
    ['--controllers=$(CONTROLLERS)', '--node-labels=a=$(VSPHERE_PASSWORD),b=$(A_LABEL)'],
    {
      env,
      envFrom,
    },
  )
  const parsed = (read?: ReadSources) => {
    const workload = parseWorkload('DaemonSet', object, read)
    return findManagers(workload === undefined ? [] : [workload]).cpi[0]
  }
  const before = parsed()
  t.match(before?.controllers, { node: true, lifecycle: true })
  t.same(before?.variableSources, [
    { kind: 'ConfigMap', name: 'more', whole: true },
    { kind: 'Secret', name: 'all', whole: true },
    { kind: 'ConfigMap', name: 'own', whole: false },
    { kind: 'Secret', name: 'login', whole: false },
  ])
  const contents = (values: Record<string, string>) =>
    new Map(Object.entries(values).map(([key, text]) => [key, new Secret(text)]))
  const after = parsed(
    new Map([
      ['ConfigMap own', contents({ controllers: 'service' })],
      ['Secret login', contents({ password: 'hidden-7f3a' })],
      ['ConfigMap more', contents({ LABEL: 'c', TWICE: 'x' })],
      ['Secret all', contents({ TWICE: 'y', SKIP_NODE_DELETION: '' })],
    ]),
  )
  t.match(after, { controllers: { node: false, lifecycle: false }, skipsDeletion: true, variableSources: [] })
  t.equal(after?.flags.nodeLabels, 'a=$(VSPHERE_PASSWORD),b=c', "a Secret's value is put into no argument")
  t.equal(after?.variables.get('VSPHERE_PASSWORD')?.reveal(), 'hidden-7f3a')
  t.equal(after?.variables.get('TWICE')?.reveal(), 'the last one')
  t.notMatch(JSON.stringify(after), 'hidden')
})

t.test('what it does to Nodes is what --controllers says', async (t) => {
  const rows: [string[], { node: boolean; lifecycle: boolean }][] = [
    [['--controllers=service,route'], { node: false, lifecycle: false }],
    [['--controllers=service', '--controllers=cloud-node'], { node: true, lifecycle: false }],
    [['--controllers=*,-cloud-node'], { node: false, lifecycle: true }],
    // Without a * only what is named is on.
    [['--controllers=-cloud-node,-cloud-node-lifecycle'], { node: false, lifecycle: false }],
    [['--controllers=-service'], { node: false, lifecycle: false }],
    [['--controllers='], { node: false, lifecycle: false }],
    [['--controllers=', '--controllers=cloud-node'], { node: true, lifecycle: false }],
    [['--controllers=something-new'], { node: true, lifecycle: true }],
  ]
  for (const [args, controllers] of rows) {
    const found = cpi(args)
    t.same(found?.controllers, controllers, args.join(' '))
    t.equal(found && handlesNodes(found), controllers.node || controllers.lifecycle)
  }
})

t.test('what it serves beside Nodes', async (t) => {
  const served = (...args: string[]) => cpi(args)?.serves
  t.same(served('--controllers=*,-cloud-node,-cloud-node-lifecycle'), { services: true, routes: true })
  t.same(served('--controllers=service'), { services: true, routes: false })
  t.same(served('--controllers=-cloud-node,-cloud-node-lifecycle'), { services: false, routes: false })
})

t.test('its Pods, and whether they are of the present template', async (t) => {
  const at = (status: object, generation = 2) => cpi([], { status, generation })
  t.match(at({}), { pods: 0, upToDate: true }, 'nobody has looked at it yet')
  const running = { observedGeneration: 2, currentNumberScheduled: 3, updatedNumberScheduled: 3 }
  t.match(at(running), { pods: 3, upToDate: true })
  t.match(at({ ...running, updatedNumberScheduled: 2 }), { pods: 3, upToDate: false })
  t.match(at(running, 3), { upToDate: false })
  t.match(at({ ...running, numberMisscheduled: 1 }), { pods: 4, upToDate: true })
  const deployment = parseWorkload(
    'Deployment',
    cpiObject([], { status: { replicas: 2, updatedReplicas: 1 } }),
  )
  t.match(deployment, { pods: 2, upToDate: false })
})

t.test('where its configuration comes from', async (t) => {
  const args = ['--cloud-config=/etc/cloud/vsphere.conf', '--node-labels=a=b', '--node-labels=c=d']
  const changes = {
    volumeMounts: [
      { name: 'certs', mountPath: '/etc' },
      { name: 'config', mountPath: '/etc/cloud/' },
    ],
    volumes: [
      { name: 'certs', secret: { secretName: 'certs' } },
      { name: 'config', configMap: { name: 'vsphere-cloud-config' } },
    ],
  }
  t.match(cpi(args, changes), {
    config: { kind: 'configmap', name: 'vsphere-cloud-config', key: 'vsphere.conf' },
    flags: { cloudConfig: '/etc/cloud/vsphere.conf', nodeLabels: 'a=b,c=d', controllers: undefined },
  })
  const secret = [{ name: 'config', secret: { secretName: 's' } }]
  t.match(cpi(args, { ...changes, volumes: secret })?.config, { kind: 'secret', name: 's' })
  const at = (mountPath: string, more: object = {}, items?: readonly object[]) =>
    cpi(args, {
      volumeMounts: [{ name: 'config', mountPath, ...more }],
      volumes: [{ name: 'config', secret: { secretName: 's', items } }],
    })?.config
  t.equal(at('/etc/clou'), undefined)
  const items = [{ key: 'cloud.conf', path: 'vsphere.conf' }]
  t.match(at('/etc/cloud', {}, items), { key: 'cloud.conf' }, 'a key that becomes a file of another name')
  t.match(at('/etc/cloud/vsphere.conf', { subPath: 'vsphere.conf' }, items), { key: 'cloud.conf' })
  t.match(at('/etc/cloud/vsphere.conf', { subPath: 'cpi.conf' }), { key: 'cpi.conf' })
  t.equal(at('/etc/cloud', {}, [{ key: 'a', path: 'b' }]), undefined)
})
