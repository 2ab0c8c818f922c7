/** An operator hands a cluster over from the CPI's chart and back: the commands are those of the pages, in their order. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import * as v from 'valibot'
import { stringify } from 'yaml'
import { root } from '../../build/programs.ts'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { serverBinary } from '../servers/build.ts'
import { policiesInForce } from '../servers/manifests.ts'
import { createCertificateAuthority } from '../servers/pki.ts'
import { startCluster } from '../servers/start-cluster.ts'
import { startControllerManager } from '../world/control-plane.ts'
import { type Controller, startController } from '../world/controller.ts'
import { startCPI } from '../world/cpi.ts'
import { createMember } from '../world/member.ts'
import { isInitialized, level, type NodeObject } from '../world/objects.ts'
import { builtProgram, type Program } from '../world/program.ts'
import { record } from '../world/recorder.ts'
import { mountSecret } from '../world/secret-mount.ts'
import { openServers, REGION_CATEGORY, ZONE_CATEGORY } from '../world/stage.ts'
import { openFront } from '../world/vcenter-front.ts'
import { serveCharts } from './chart-repository.ts'
import { openPage, untaken } from './page.ts'

const folder = await mkdtemp(join(tmpdir(), 'rollcall-hand-over-'))
t.teardown(() => rm(folder, { recursive: true }))
const bin = join(folder, 'bin')
await mkdir(bin)
for (const name of ['kubectl', 'helm', 'govc'] as const)
  await symlink(await serverBinary(name), join(bin, name))
await symlink(await builtProgram('rollcall-controller'), join(bin, 'rollcall-controller'))
await symlink(join(root, 'manifests'), join(folder, 'manifests'))

const { stdout: module } = await promisify(execFile)(
  'go',
  ['mod', 'download', '-json', 'k8s.io/cloud-provider-vsphere'],
  { cwd: join(root, 'test/servers/cpi') },
)
const { Dir } = v.parse(v.object({ Dir: v.string() }), JSON.parse(module))
const charts = join(folder, 'charts')
await cp(join(Dir, 'charts'), charts, { recursive: true })
const repository = await serveCharts(charts, await createCertificateAuthority(folder))
t.teardown(() => repository.close())

const { cluster, vcsim, dir } = await openServers(t, { vms: 3 }, startCluster)
const nodes = await record<NodeObject>(cluster, '/api/v1/nodes')
t.teardown(() => nodes.close())
const front = await openFront(vcsim)
t.teardown(() => front.close())
await mkdir(join(folder, '.kube'))
await symlink(cluster.adminKubeconfig, join(folder, '.kube/config'))

const GOVC = {
  GOVC_URL: `https://${vcsim.host}:${vcsim.port}`,
  GOVC_USERNAME: vcsim.username,
  GOVC_PASSWORD: vcsim.password,
  GOVC_INSECURE: 'true',
}

/** What a command says on both outputs. */
async function type(line: string, codes: readonly number[] = [0]): Promise<string> {
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: folder,
    ...GOVC,
    ...(line.startsWith('helm ') ? repository.environment : {}),
  }
  const { code, output } = await new Promise<{ code: number; output: string }>((resolve) => {
    execFile('sh', ['-c', line], { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
  })
  if (!codes.includes(code)) throw new Error(`${line}\nended with ${code}: ${output}`)
  return output
}

const handOver = await openPage('hand-over.md')
const chart = await openPage('helm.md')

/** The version of the CPI's chart, as a reader has noted it. */
let version = 'VERSION'

async function noteVersion(said: string): Promise<void> {
  const [, noted] = /\bvsphere-cpi-(\d\S+)/.exec(said) ?? []
  if (noted === undefined) throw new Error(`the list does not show the version: ${said}`)
  version = noted
}

/** Types them all; what is to be done after one of them is found by how that begins. */
async function follow(
  commands: readonly string[],
  after: Readonly<Record<string, (said: string) => Promise<unknown>>>,
): Promise<void> {
  const left = new Set(Object.keys(after))
  for (const line of commands) {
    const said = await type(line.replace('VERSION', version))
    const [begin] = [...left].filter((each) => line.startsWith(each))
    if (begin === undefined) continue
    left.delete(begin)
    await after[begin]?.(said)
  }
  if (left.size > 0) throw new Error(`the page has no command that begins with ${[...left].join(' or ')}`)
}

let cpi: Program | undefined
let mounts = 0

const DaemonSet = v.object({
  spec: v.object({
    template: v.object({
      spec: v.object({
        serviceAccountName: v.string(),
        containers: v.tuple([v.object({ args: v.array(v.string()) })]),
        volumes: v.tuple([v.object({ configMap: v.object({ name: v.string() }) })]),
      }),
    }),
  }),
})

/** Runs the CPI as its DaemonSet says, or stops it where there is none, as a kubelet would. */
async function asKubelet(): Promise<void> {
  const path = '/apis/apps/v1/namespaces/kube-system/daemonsets/vsphere-cpi'
  const { status, body } = await cluster.request('GET', path)
  await cpi?.stop()
  cpi = undefined
  if (status === 404) return
  const { serviceAccountName, containers, volumes } = v.parse(DaemonSet, body).spec.template.spec
  const { body: configMap } = await cluster.request(
    'GET',
    `/api/v1/namespaces/kube-system/configmaps/${volumes[0].configMap.name}`,
  )
  const { data } = v.parse(v.object({ data: v.object({ 'vsphere.conf': v.string() }) }), configMap)
  const own = ['--cloud-provider=vsphere', '--cloud-config=/etc/cloud/vsphere.conf']
  const missing = own.filter((flag) => !containers[0].args.includes(flag))
  if (missing.length > 0) throw new Error(`the DaemonSet has no ${missing.join(' ')}`)
  cpi = await startCPI({
    cluster,
    dir: dir,
    config: data['vsphere.conf'],
    account: serviceAccountName,
    args: [
      ...containers[0].args.filter((flag) => !own.includes(flag)),
      '--leader-elect=true',
      '--node-status-update-frequency=1s',
      '-v=4',
    ],
  })
}
t.teardown(() => cpi?.stop())

/** Runs the controller as its Deployment says: with the Secret, and without any Nodes until the CPI has stopped. */
async function startRollcall(): Promise<Controller> {
  await policiesInForce(cluster)
  const { body } = await cluster.request('GET', '/api/v1/namespaces/kube-system/secrets/rollcall-config')
  const { data } = v.parse(v.object({ data: v.object({ 'vsphere.conf': v.string() }) }), body)
  mounts += 1
  const mount = await mountSecret(join(dir, `etc-rollcall-${mounts}`), {
    'vsphere.conf': Buffer.from(data['vsphere.conf'], 'base64').toString(),
  })
  const configFile = mount.path('vsphere.conf')
  const controller = await startController({ cluster, vcsim, dir, configFile, until: 'answering' })
  t.teardown(() => controller.stop())
  await until('it leaves Nodes to the CPI', async () =>
    (await controller.readyz()).includes('Nodes are left to'),
  )
  return controller
}

/** All of the Nodes that a cloud provider writes, but for the label that is Rollcall's own. */
async function written() {
  const Written = v.object({
    metadata: v.object({ name: v.string(), labels: v.record(v.string(), v.string()) }),
    spec: v.unknown(),
    status: v.object({ addresses: v.array(v.unknown()) }),
  })
  const { body } = await cluster.request<{ items: unknown[] }>('GET', '/api/v1/nodes')
  return body.items.map((item) => {
    const { metadata, spec, status } = v.parse(Written, item)
    const { [LABEL_IDENTITY_LEVEL]: _, ...labels } = metadata.labels
    return { name: metadata.name, labels, spec, addresses: status.addresses }
  })
}

/** Waits until the CPI has gone over the addresses of all Nodes, twice. */
async function rounds(): Promise<void> {
  const count = () => (cpi?.stderr ?? []).filter((line) => /Update \d+ nodes status took/.test(line)).length
  const before = count()
  await until('the CPI has looked at all Nodes', () => count() >= before + 2)
}

const vms = await vcsim.vms()
const names = ['worker-1', 'worker-2', 'worker-3']
await writeFile(
  join(folder, 'first-values.yaml'),
  stringify({
    config: {
      enabled: true,
      vcenter: front.host,
      username: vcsim.username,
      password: vcsim.password,
      datacenter: 'DC0',
      region: REGION_CATEGORY,
      zone: ZONE_CATEGORY,
    },
  }),
)
let byCPI: Awaited<ReturnType<typeof written>> = []

await t.test('the CPI initializes all', async (t) => {
  await type('helm repo index charts')
  await type(handOver.command('helm repo add'))
  await type(
    'helm install vsphere-cpi vsphere-cpi/vsphere-cpi --version 1.36.0 --namespace kube-system --values first-values.yaml',
  )
  await asKubelet()
  for (const [index, name] of names.entries()) {
    const [vm, address] = [vms[index], `10.7.0.${index + 1}`]
    if (vm === undefined) throw new Error('there are three')
    const ending = <T>(program: T) => program
    await createMember({ cluster, vcsim, dir, ending }, { name, vm, address }, { tools: true })
  }
  await nodes.until('the CPI has initialized all', () =>
    names.every((name) => isInitialized(nodes.last(name))),
  )
  await rounds()
  byCPI = await written()
  t.match(
    byCPI,
    names.map((name) => ({
      name,
      labels: { 'topology.kubernetes.io/region': 'region-1' },
      addresses: [{}, {}, {}],
    })),
  )
})

const takenOver = () =>
  nodes.until('Rollcall knows all', () => names.every((name) => level(nodes.last(name)) === 'asserted'))

const KINDS = [
  ...[
    'secrets',
    'configmaps',
    'serviceaccounts',
    'leases',
    'deployments',
    'daemonsets',
    'poddisruptionbudgets',
  ],
  ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings', 'customresourcedefinitions'],
  ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
  ...['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'],
]

/** What is left of Rollcall, and of what was made for it: objects, and what is on Nodes. */
async function left(): Promise<{ readonly objects: readonly string[]; readonly onNodes: boolean }> {
  const objects = (await type(`kubectl get ${KINDS.join()} -A -o name`)).split('\n')
  const onNodes = await type('kubectl get nodes -o yaml')
  return {
    objects: objects.filter((name) => name.includes('rollcall')),
    onNodes: onNodes.includes('rollcall'),
  }
}

await t.test('docs/hand-over.md, with the manifests: to Rollcall', async (t) => {
  let controller: Controller | undefined
  const commands = handOver.section('To Rollcall')
  await follow(commands, {
    'rollcall-controller plan --from-cpi': async (said) => {
      t.match(said, /^no change to any of 3 Nodes$/m)
      t.match(said, /^Nodes that would get a new identity level label: 3 \(worker-1, worker-2, worker-3\)$/m)
      const printed = (command: string) =>
        !/^(rollcall-controller|sed|echo|helm list|kubectl (get|apply|create secret))/.test(command)
      for (const command of commands.filter(printed)) t.ok(said.includes(command), command)
    },
    'helm list': noteVersion,
    'kubectl apply -k': async () => {
      controller = await startRollcall()
      // A person takes longer to the next step.
      await until('there are reports', async () => /^worker-3 /m.test(await type('kubectl get nr')))
    },
    'kubectl get nr': async (said) => void t.match(said, /^worker-3 /m),
    'helm uninstall': async () => {
      t.match(await type('kubectl get secret vsphere-cloud-secret -n kube-system', [1]), /not found/)
      await asKubelet()
      await takenOver()
    },
  })
  t.match(
    await type(handOver.command('kubectl get nr -o wide')),
    /^NAME .* DELETION .*^worker-3 .* asserted +True /ms,
  )
  t.strictSame(await written(), byCPI)
  await controller?.stop()
})

await t.test('and back', async (t) => {
  await type('kubectl taint node worker-1 node.kubernetes.io/out-of-service=rollcall:NoExecute')
  const commands = handOver.section('Back to the CPI')
  await follow(
    commands.map((command) => command.replace('-vm VM ', `-vm ${vms[0]?.name} `)),
    {
      'helm install vsphere-cpi': async () => {
        await asKubelet()
        await rounds()
        await type(handOver.command('kubectl taint node NODE').replace('NODE', 'worker-1'))
        t.strictSame(await written(), byCPI)
      },
    },
  )
  t.strictSame(await left(), { objects: [], onNodes: false })
  t.strictSame(await written(), byCPI)
})

await t.test('docs/helm.md: from chart to chart, and back', async (t) => {
  const commands = chart.section("From the CPI's chart")
  const split = commands.findIndex((command) => command.includes('--replicas=0'))
  let controller: Controller | undefined
  await follow(commands.slice(0, split), {
    'helm list': noteVersion,
    'helm install rollcall': async () => {
      controller = await startRollcall()
    },
    'helm uninstall vsphere-cpi': async () => {
      await asKubelet()
      await takenOver()
      t.strictSame(await written(), byCPI)
    },
  })
  await controller?.stop()
  await follow(commands.slice(split), {
    'helm install vsphere-cpi': async () => {
      await asKubelet()
      await rounds()
    },
  })
  t.strictSame(await written(), byCPI)
  const rest = { objects: ['lease.coordination.k8s.io/rollcall-controller'], onNodes: true }
  t.strictSame(await left(), rest, 'what stays, as docs/hand-over.md says, is the Lease and the label')
})

await t.test(
  'the CPI overwrites a standard label with the beta label, as docs/hand-over.md says',
  async (t) => {
    await type('kubectl label node worker-1 --overwrite failure-domain.beta.kubernetes.io/zone=other')
    const zone = () => nodes.last('worker-1')?.metadata.labels?.['topology.kubernetes.io/zone']
    await nodes.until('the standard label follows', () => zone() === 'other')
    t.equal(zone(), 'other')
  },
)

await t.test('a CPI that keeps Services and routes', async (t) => {
  const [command = ''] = handOver.section('Services and routes')
  await type(command.replace('VERSION', version))
  const args = await type(
    "kubectl get daemonset vsphere-cpi -n kube-system -o jsonpath='{.spec.template.spec.containers[0].args}'",
  )
  t.match(args, '"--controllers=service,route"')
  const [annotate = ''] = handOver.section('Both at once')
  t.match(await type(annotate), /cloud-controller-manager annotated$/m)
})

await t.test('a CPI with a Lease of another name', async (t) => {
  const flags = 'daemonset.cmdline.additionalParams'
  await type(
    `helm upgrade vsphere-cpi vsphere-cpi/vsphere-cpi --version ${version} --namespace kube-system --reuse-values --set '${flags}.controllers=*,${flags}.leader-elect-resource-name=vsphere'`,
  )
  const said = await type(handOver.command('rollcall-controller plan --from-cpi'))
  const [, create = ''] = /let Rollcall read the CPI's Lease: (kubectl .*)$/m.exec(said) ?? []
  t.match(await type(create), /^role\S+ created$.*^rolebinding\S+ created$/ms)
  const remove = handOver.command('kubectl -n NAMESPACE delete').replace('NAMESPACE', 'kube-system')
  t.match(
    await type(remove),
    /^rolebinding\S+ "rollcall-cpi-lease" deleted.*^role\S+ "rollcall-cpi-lease" deleted/ms,
  )
})

await t.test('a CPI that Helm did not install', async (t) => {
  await using _ = await startControllerManager(cluster, ['garbage-collector-controller'])
  await type(handOver.command('kubectl -n kube-system delete daemonset').replace('NAME', 'vsphere-cpi'))
  t.match(await type('kubectl get daemonset vsphere-cpi -n kube-system', [1]), /not found/)
})

await t.test('the chart by itself, and what else docs/helm.md has', async (t) => {
  for (const command of chart.section('The Helm chart')) await type(command)
  t.match(await type('helm list -n kube-system'), /^rollcall\s+kube-system\s+2\s/m, 'installed and upgraded')
  t.match(await type(chart.command('helm template')), /^kind: Deployment$/m)
  await type('kubectl create namespace vsphere')
  const label = chart.command('kubectl label namespace').replace('NAME', 'vsphere')
  t.match(await type(label), /^namespace\/vsphere labeled$/m)
})

await t.test('there is no command in these pages that was not typed', async (t) => {
  t.strictSame(untaken(handOver, chart), [])
})
