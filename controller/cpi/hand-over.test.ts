import t from 'tap'
import { ok } from '../../agent/shared/result.ts'
import { load } from '../config/testing/load.ts'
import { configuredCPI, environmentOf, givenBy } from './cpi-in-cluster.ts'
import { handOver } from './hand-over.ts'
import { findManagers } from './interlock/find-cpi.ts'
import { type CPIObjectChanges, cpiObject } from './interlock/testing/cpi-object.ts'
import { parseWorkload } from './interlock/workloads.ts'

const NONE = { credentials: {}, vCenters: [] }

function managers(args: readonly string[], changes: CPIObjectChanges = {}) {
  const workload = parseWorkload('DaemonSet', cpiObject(args, changes))
  return findManagers(workload === undefined ? [] : [workload])
}

function steps(
  args: readonly string[],
  changes: CPIObjectChanges = {},
  loadBalancers: readonly string[] = [],
  routedNodes: readonly string[] = [],
  by: Parameters<typeof handOver>[1] = { config: NONE, ownFile: true },
) {
  return handOver(
    { ...managers(args, changes), lease: undefined, loadBalancers, routedNodes, nsx: ok([]) },
    by,
  )
}

t.test('the steps are those of this cluster', async (t) => {
  const lease = { holder: 'node-1_ab', durationSeconds: 15, acquireTime: '', renewTime: 'T', transitions: 0 }
  const plain = handOver({ ...managers([]), lease, loadBalancers: [], routedNodes: [], nsx: ok([]) })
  t.match(plain, [
    'the vSphere CPI is DaemonSet kube-system/cpi',
    /has the Lease kube-system\/cloud-controller-manager$/,
    /held by node-1_ab, .* renewed at T/,
  ])
  t.ok(plain.some((line) => line.includes('kubectl -n kube-system delete daemonset cpi')))
  t.notOk(plain.some((line) => line.includes('create role')))
  t.ok(plain.some((line) => /there is none for Windows, .*no other Node as asserted/.test(line)))
  const balancing = steps([], {}, ['a/b'])
  t.ok(balancing.some((line) => line.startsWith('Services of type LoadBalancer')))
  t.ok(balancing.some((line) => line.includes('--controllers=service,route')))
  t.notOk(balancing.some((line) => line.includes('delete daemonset')))
  const beside = steps(['--controllers=service,route'], {}, ['a/b'])
  t.match(beside[0], 'leaves Nodes alone')
  t.notOk(
    beside.some((line) => line.includes('so that it keeps serving')),
    'nothing is to be done about it',
  )
  const routing = steps([], {}, [], ['worker-1'])
  t.ok(routing.some((line) => /^Nodes with routes .*: 1 \(worker-1\)$/.test(line)))
  t.ok(routing.some((line) => line.includes('--controllers=service,route')))
  t.match(
    handOver({ cpi: [], others: [], lease: undefined, loadBalancers: [], routedNodes: [], nsx: ok([]) })[0],
    'no vSphere CPI',
  )
})

t.test('they carry the arguments of the CPI over', async (t) => {
  const given = steps(['--node-labels=example.com/rack=r1', '--controllers=*,-cloud-node-lifecycle'])
  t.ok(
    given.some((line) =>
      /--controllers=\*,-cloud-node-lifecycle --node-labels=example.com\/rack=r1$/.test(line),
    ),
  )
  const elsewhere = steps(['--leader-elect-resource-name=own', '--leader-elect-resource-namespace=cpi'])
  t.ok(elsewhere.some((line) => /kubectl -n cpi create role .* --resource-name=own && /.test(line)))
  t.ok(steps(['--leader-elect=false']).some((line) => line.endsWith('runs without leader election')))
})

t.test('they carry its environment over', async (t) => {
  const env = ['SKIP_NODE_DELETION', 'VSPHERE_USER', 'VCENTER_1_PASSWORD', 'VCENTER_1_ROUNDTRIP', 'HOME'].map(
    (name) => ({ name }),
  )
  t.match(steps([], { env }), [
    /./,
    /./,
    'DaemonSet kube-system/cpi has SKIP_NODE_DELETION, so it deletes no Nodes',
    /^DaemonSet kube-system\/cpi has environment variables .*: VSPHERE_USER, VCENTER_1_PASSWORD$/,
    '',
    'to hand over:',
    /asserted\}" in it; also "lifecycle: \{deletion: off\}", because the CPI has SKIP_NODE_DELETION; put the values of VSPHERE_USER, VCENTER_1_PASSWORD in it as well, or/,
  ])
  t.notMatch(steps([], { env: [{ name: 'HOME' }] }).join('\n'), /environment|deletion/)
  const envFrom = [{ configMapRef: { name: 'a' } }, { secretRef: { name: 'b' }, prefix: 'VSPHERE_' }]
  t.match(
    steps([], { envFrom })[2],
    /gets environment variables from ConfigMap a, Secret b, .* above all SKIP_NODE_DELETION$/,
  )
  t.same(environmentOf(managers([], { env }), true), { SKIP_NODE_DELETION: '' })
  t.same(environmentOf(managers(['--controllers=service'], { env }), true), {})
  t.same(environmentOf(managers([]), true), {})
})

t.test('the values of its environment are those of the plan', async (t) => {
  const env = [
    { name: 'VSPHERE_USER', value: 'u' },
    { name: 'VSPHERE_PASSWORD', valueFrom: { secretKeyRef: { name: 's', key: 'p' } } },
    { name: 'HOME', value: '/' },
  ]
  t.same(environmentOf(managers([], { env }), true), { VSPHERE_USER: 'u' })
  t.match(steps([], { env }), [
    /./,
    /./,
    /override its file, and this plan uses them: VSPHERE_USER$/,
    /this plan uses them only if they are set here as well: VSPHERE_PASSWORD$/,
  ])
  t.same(
    environmentOf(managers([], { env }), false),
    {},
    'nothing changes where the password in another file is sent',
  )
  const byOther = steps([], { env }, [], [], { config: NONE, ownFile: false })
  t.match(byOther[2], /only if they are set here as well: VSPHERE_USER, VSPHERE_PASSWORD$/)
})

t.test('the right to read the Secrets with the password', async (t) => {
  const secret = (namespace: string, name: string) => ({ kind: 'secret', namespace, name }) as const
  const credentials = {
    one: secret('kube-system', 'a'),
    two: secret('kube-system', 'a'),
    three: secret('kube-system', 'b'),
    four: secret('other', 'c'),
    five: { kind: 'directory', path: '/etc/cloud/secrets' } as const,
    six: secret('kube-system', 'x; reboot'),
  }
  const all = steps([], {}, [], [], { config: { ...NONE, credentials }, ownFile: true })
  const lines = all.filter((line) => line.includes('--resource=secrets'))
  t.match(lines, [
    /kubectl -n kube-system create role rollcall-credentials --verb=list,watch --resource=secrets --resource-name=a --resource-name=b && kubectl -n kube-system create rolebinding rollcall-credentials --role=rollcall-credentials --serviceaccount=kube-system:rollcall-controller$/,
    /kubectl -n other create role rollcall-credentials .* --resource-name=c && /,
  ])
  t.equal(lines.length, 2)
})

t.test('with several vCenters they say that a new Node waits for all', async (t) => {
  const apply = async (...names: readonly string[]) => {
    const entries = names.map((name) => `  ${name}: {server: ${name}.example.com, user: u, password: p}`)
    const { config } = await load(['vcenter:', ...entries].join('\n'))
    return steps([], {}, [], [], { config, ownFile: true }).find((line) => line.includes('apply Rollcall'))
  }
  t.match(
    await apply('a', 'b'),
    /asserted\}" in it; with several vCenters, a new Node without an agent waits until all answer, .*"requireAllVCenters: false"/,
  )
  t.match(await apply('a'), /asserted\}" in it$/)
})

t.test('after the wait they name the Nodes whose machines were gone before', async (t) => {
  const lines = steps([])
  const at = (text: RegExp) => lines.findIndex((line) => text.test(line))
  t.ok(at(/wait:/) > 0)
  t.equal(at(/say NotBound .*"lifecycle: \{unbound: delete\}"/), at(/wait:/) + 1)
})

t.test('a CPI that Helm installed', async (t) => {
  const annotations = {
    'meta.helm.sh/release-name': 'vsphere-cpi',
    'meta.helm.sh/release-namespace': 'kube-system',
  }
  const credentials = { main: { kind: 'secret', namespace: 'kube-system', name: 'login' } } as const
  const lines = steps([], { annotations }, [], [], { config: { ...NONE, credentials }, ownFile: true })
  const indexOf = (text: string) => lines.findIndex((line) => line.includes(text))
  const order = [
    'helm get values vsphere-cpi --namespace kube-system --output yaml > cpi-values.yaml',
    'get secret login --output',
    '"secretName: rollcall-login" in place of login',
    '--resource-name=rollcall-login',
    'helm uninstall vsphere-cpi --namespace kube-system',
  ].map(indexOf)
  t.notOk(order.includes(-1), lines.join('\n'))
  t.same(
    order,
    order.toSorted((a, b) => a - b),
    'the Secret is copied before Helm deletes it',
  )
  t.equal(indexOf('delete daemonset'), -1)
  const kept = steps([], { annotations }, ['a/b'], [], {
    config: { ...NONE, credentials },
    ownFile: true,
  }).join('\n')
  t.match(
    kept,
    /with its chart: helm upgrade vsphere-cpi .* --reuse-values --set 'daemonset\.cmdline\.additionalParams\.controllers=service\\,route'/,
  )
  t.notMatch(kept, /uninstall|rollcall-login/, 'it keeps its Secret')
  const evil = steps([], { annotations: { ...annotations, 'meta.helm.sh/release-name': 'a; reboot' } })
  t.notMatch(evil.join('\n'), 'reboot')
})

t.test('what it meets in NSX', async (t) => {
  const findings = { ...managers([]), lease: undefined, loadBalancers: [], routedNodes: [] }
  const nsx = ok([{ of: 'routes', message: 'this and that' }] as const)
  t.ok(handOver({ ...findings, nsx }).includes('while the CPI serves NSX: this and that'))
  const unknown = handOver({ ...findings, nsx: { ok: false, message: 'no file' } })
  t.ok(unknown.includes('what the CPI meets in NSX is not known: no file'))
})

t.test('a CPI that the leader does not see is stopped before it starts', async (t) => {
  const namespace = 'cloud'
  const own = ['--leader-elect-resource-namespace=cloud']
  const lines = steps(own, { namespace })
  const [stop = 0, apply = 0] = [
    'before you start Rollcall, which does not see this CPI: kubectl -n cloud delete',
    'apply',
  ].map((text) => lines.findIndex((line) => line.includes(text)))
  t.ok(stop > 0 && stop < apply, lines.join('\n'))
  t.notMatch(lines.join('\n'), /create role|\d\. (check|wait):|annotate/)
  const balancing = steps(['--leader-elect=false'], { namespace }, ['a/b'])
  t.match(
    balancing.join('\n'),
    /which does not see this CPI: start DaemonSet cloud\/cpi with --controllers=service,route/,
  )
})

t.test('a CPI outside kube-system with the Lease of all says that it leaves Nodes alone', async (t) => {
  const annotate = /annotate lease cloud-controller-manager rollcall.dev\/handles-nodes=false/
  const there = { namespace: 'cloud' }
  t.match(steps([], there, ['a/b']).join('\n'), annotate)
  t.match(steps(['--controllers=service'], there).join('\n'), annotate)
  t.notMatch(steps([], there).join('\n'), annotate, 'it is stopped')
  t.notMatch(steps([], {}, ['a/b']).join('\n'), annotate, 'its arguments are seen')
})

t.test(
  'a plan is made by the file of one CPI, which no tenant can choose where there is another',
  async (t) => {
    const inNamespaces = (...namespaces: readonly string[]) =>
      configuredCPI({ cpi: namespaces.flatMap((namespace) => managers([], { namespace }).cpi), others: [] })
    t.match(inNamespaces(), { ok: false, message: /^no vSphere CPI .*--config$/ })
    t.match(inNamespaces('kube-system', 'tenant'), { ok: true, value: { namespace: 'kube-system' } })
    t.match(inNamespaces('cloud', 'cloud'), { ok: true, value: { namespace: 'cloud' } })
    t.match(inNamespaces('a-tenant', 'openshift-cloud-controller-manager'), {
      ok: false,
      message:
        'which of these is the CPI? 2 (DaemonSet a-tenant/cpi, DaemonSet openshift-cloud-controller-manager/cpi); name its vsphere.conf with --config',
    })
  },
)

t.test('a CPI of a Supervisor stays', async (t) => {
  const lines = steps(['--cloud-provider=vsphere-paravirtual'])
  t.match(lines.at(-1), /^DaemonSet kube-system\/cpi runs with .* do not hand over$/)
  t.notMatch(lines.join('\n'), /apply|delete/)
})

t.test('they say how to get its vsphere.conf', async (t) => {
  const args = ['--cloud-config=/etc/cloud/vsphere.conf']
  const volumeMounts = [{ name: 'config', mountPath: '/etc/cloud' }]
  const from = (volume: object) => steps(args, { volumeMounts, volumes: [{ name: 'config', ...volume }] })
  t.ok(
    from({ configMap: { name: 'c' } }).some((line) =>
      line.endsWith(
        `kubectl -n kube-system get configmap c -o go-template='{{index .data "vsphere.conf"}}' > vsphere.conf`,
      ),
    ),
  )
  t.ok(from({ secret: { secretName: 's' } }).some((line) => line.includes('"vsphere.conf" | base64decode}}')))
  t.ok(steps(args).some((line) => line.includes('/etc/cloud/vsphere.conf where it runs')))
})

t.test('nothing stands in a command that would be one itself', async (t) => {
  const volumeMounts = [{ name: 'config', mountPath: '/etc/cloud' }]
  const volumes = [{ name: 'config', configMap: { name: 'c' } }]
  const evil = `x"}}' ; reboot '`
  const lines = steps([`--cloud-config=/etc/cloud/${evil}`, `--leader-elect-resource-name=${evil}`], {
    volumeMounts,
    volumes,
  })
  t.notOk(lines.some((line) => line.includes('kubectl') && line.includes('reboot')))
})

t.test('the plan is made by the arguments of the CPI that handles Nodes', async (t) => {
  t.same(givenBy(managers([])), { initializes: true, endsNodes: true, nodeLabels: {} })
  t.same(givenBy(managers(['--controllers=service,route', '--node-labels=a=b'])), {
    initializes: true,
    endsNodes: true,
    nodeLabels: {},
  })
  const args = [
    '--controllers=cloud-node',
    '--node-labels=example.com/a=b,kubernetes.io/c=d',
    '--node-labels=e=f',
  ]
  t.same(givenBy(managers(args)), {
    initializes: true,
    endsNodes: false,
    nodeLabels: { 'example.com/a': 'b', e: 'f' },
  })
  t.match(
    handOver({ ...managers(args), lease: undefined, loadBalancers: [], routedNodes: [], nsx: ok([]) }).join(
      '\n',
    ),
    /kubernetes.io\/c is left out/,
  )
  const wrong = managers(['--node-labels=a=b c'])
  t.same(givenBy(wrong).nodeLabels, {})
  t.match(
    handOver({ ...wrong, lease: undefined, loadBalancers: [], routedNodes: [], nsx: ok([]) }).join('\n'),
    /the value of a is not a valid label value/,
  )
})
