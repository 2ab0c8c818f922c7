/** What `main.ts` runs within the namespaces. */
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { connect, type PeerCertificate } from 'node:tls'
import t, { type Test } from 'tap'
import { root } from '../../build/programs.ts'
import { LABEL_REGION, LABEL_ZONE } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { address, hasTaint, isInitialized, level, ready } from '../world/objects.ts'
import { installNetwork } from './containerd.ts'
import { chart, manifests } from './forms.ts'
import { CONTROL_PLANE, type Host, startHost } from './host.ts'
import type { Parts } from './parts.ts'
import { openPodsStage } from './stage.ts'

/** As a kubelet with `--cloud-provider=external` writes it. */
const UNINITIALIZED = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  effect: 'NoSchedule',
  value: 'true',
}
const OWNERS = ['deployment/rollcall-controller', 'daemonset/rollcall-agent'] as const
const ZONES: Readonly<Record<string, string>> = { DC0_C0: 'zone-a', DC0_C1: 'zone-b' }

const parts: Parts = JSON.parse(process.argv[2] ?? '')
// Patience: under load it takes many times its two minutes.
t.setTimeout(1_800_000)
await using stage = await openPodsStage(parts.folder)
const { nodes, leases, requests, kubectl } = stage
const system = (...args: string[]) => kubectl('--namespace=kube-system', ...args)
await using stack = new AsyncDisposableStack()
const hosts = await Promise.all([startHost(stage, parts, 1), startHost(stage, parts, 2)])
for (const host of hosts) stack.use(host)

for (const form of [manifests, chart])
  await t.test(`Pods of ${form.name}`, async (t) => {
    await form.apply(stage, parts.folder)
    await t.test('Nodes register with the taint, and are initialized', (t) => join(t, hosts))
    await t.test('kubelets get certificates for their names and addresses', certified)
    await t.test('the rollouts end', rolledOut)
    await t.test('the kernel holds them as their security contexts say', confined)
    // The chart's objects are the same to the last field: test/install/chart.test.ts.
    if (form === manifests) {
      await t.test('a Node is deleted and registered anew', (t) => registeredAnew(t, hosts[1]))
      await t.test('logs and exec do what the docs say', commandsOfTheDocs)
      await t.test("the leader's Pod is deleted, and the other leads at once", leaderDeleted)
      await t.test('new Pods take the place of the old ones', restarted)
      await t.test("a kubelet's certificate is followed by another", rotated)
    }
    if (!t.passing()) await tell(t)
    await form.remove(stage, parts.folder)
    // While the kubelets run: a DaemonSet passes over a Node of that name on which Pods of its namesake are still ending.
    await until('no Pod is left', async () => (await system('get', 'pods', '--output=name')) === '')
    for (const host of hosts) await host.stopKubelet()
    await kubectl('delete', 'nodes', '--all')
  })

async function join(t: Test, hosts: readonly Host[]): Promise<void> {
  for (const host of hosts) {
    const { name } = host.machine
    const before = nodes.of(name).length
    await host.startKubelet()
    // As kubeadm does, by its own rights: no kubelet may.
    await kubectl('label', 'node', name, `${CONTROL_PLANE}=`)
    await installNetwork(host.machine)
    await registered(t, name, before)
  }
  for (const host of hosts) await initialized(t, host)
}

/** Resolves with the Node's UID as its kubelet made it, after so many versions of those before. */
async function registered(t: Test, name: string, before: number): Promise<string | undefined> {
  const added = () =>
    nodes
      .of(name)
      .slice(before)
      .find(({ type }) => type === 'ADDED')?.object
  await nodes.until(`${name} is there`, () => added() !== undefined)
  t.ok(hasTaint(added(), UNINITIALIZED), `${name} is not initialized`)
  t.equal(added()?.spec.providerID, undefined)
  return added()?.metadata.uid
}

async function initialized(t: Test, { machine: { name, address: expected }, vm }: Host): Promise<void> {
  const node = () => nodes.last(name)
  await nodes.until(`${name} is initialized`, () => node() !== undefined && isInitialized(node()))
  t.equal(node()?.spec.providerID, `vsphere://${vm.uuid}`)
  t.match(node()?.metadata.labels, { [LABEL_ZONE]: ZONES[vm.cluster], [LABEL_REGION]: 'region-1' })
  t.equal(address(node(), 'InternalIP'), expected)
  t.equal(level(node()), 'reported', 'there is no guest RPC here')
  await nodes.until(`${name} is ready`, () => ready(node()) === 'True')
}

/** The certificate that a kubelet serves with, verified as the API server does. */
function served({ machine: { address } }: Host): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port: 10_250, ca: readFileSync(stage.cluster.caFile) }, () => {
      resolve(socket.getPeerCertificate())
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

/** How long each request waited for its certificate, milliseconds. */
function waits(): readonly number[] {
  const names = new Set(requests.versions.map(({ object }) => object.metadata.name))
  return [...names].flatMap((name) => {
    const versions = requests.of(name)
    const signed = versions.find(({ object }) => object.status?.certificate)
    return signed === undefined ? [] : [signed.at - (versions[0]?.at ?? 0)]
  })
}

async function certified(t: Test): Promise<void> {
  for (const host of hosts) {
    const { name, address } = host.machine
    await until(`${name} serves with a certificate of the cluster`, () =>
      served(host).then(
        () => true,
        () => false,
      ),
    )
    const { subjectaltname, subject } = await served(host)
    t.equal(subjectaltname, `DNS:${name}, IP Address:${address}`)
    t.match(subject, { O: 'system:nodes', CN: `system:node:${name}` })
  }
  t.comment(
    `from request to certificate, ms: ${waits()
      .map((ms) => ms.toFixed(0))
      .join(', ')}`,
  )
}

async function rotated(t: Test): Promise<void> {
  const [host] = hosts
  const { name } = host.machine
  const { serialNumber } = await served(host)
  const another = async () => (await served(host)).serialNumber !== serialNumber
  await until(`${name} serves with another certificate`, another, 600_000)
  const [pod] = await podsOf('rollcall-agent')
  t.match(await system('logs', pod?.name ?? ''), /"msg":"report sent"/)
  t.comment(
    `from request to certificate, ms: ${waits()
      .map((ms) => ms.toFixed(0))
      .join(', ')}`,
  )
}

async function rolledOut(t: Test): Promise<void> {
  for (const owner of OWNERS)
    t.match(await system('rollout', 'status', owner, '--timeout=4m'), /successfully rolled out/)
}

async function confined(t: Test): Promise<void> {
  const uids = { 'rollcall-agent': 0, 'rollcall-controller': 65_532 }
  for (const [program, uid] of Object.entries(uids)) {
    const processes = await statusOf(program)
    t.equal(processes.length, hosts.length)
    for (const status of processes)
      t.match(status, {
        Uid: `${uid} ${uid} ${uid} ${uid}`,
        CapPrm: /^0+$/,
        CapBnd: /^0+$/,
        NoNewPrivs: '1',
        // A filter.
        Seccomp: '2',
      })
  }
}

/** What the kernel says of each process of a program. */
async function statusOf(program: string): Promise<Record<string, string>[]> {
  const found: Record<string, string>[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // Some end meanwhile.
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (!command.startsWith(`/${program}\0`)) continue
    const lines = (await readFile(`/proc/${pid}/status`, 'utf8')).split('\n')
    found.push(Object.fromEntries(lines.map((line) => line.replaceAll('\t', ' ').split(/: +/, 2))))
  }
  return found
}

async function restarted(t: Test): Promise<void> {
  await system('rollout', 'restart', ...OWNERS)
  await rolledOut(t)
}

async function commandsOfTheDocs(t: Test): Promise<void> {
  const agents = await system('logs', '-l', 'app.kubernetes.io/name=rollcall-agent', '--prefix')
  t.match(agents, /"msg":"report sent"/)
  for (const { machine } of hosts) t.match(agents, `"node":"${machine.name}"`)
  const controllers = await system('logs', '-l', 'app.kubernetes.io/name=rollcall-controller', '--prefix')
  t.match(controllers, /"msg":"following"/)
  const onMachines = async ({ name, node }: PodName) => {
    const agent = ['exec', name, '--', '/rollcall-agent']
    const uuid = hosts.find(({ machine }) => machine.name === node)?.vm.uuid
    t.match(JSON.parse(await system(...agent, '--print')), { spec: { machine: { serialUUID: uuid } } })
    t.match(await system(...agent, 'doctor'), / 0 fail/)
  }
  const inController = async () => {
    const controller = ['exec', OWNERS[0], '--', '/rollcall-controller']
    t.match(await system(...controller, 'doctor'), / 0 fail/)
    const config = ['--config', '/etc/rollcall/vsphere.conf']
    t.match(await system(...controller, 'explain', 'control-1', ...config), /^Node control-1 is initialized/)
    t.match(await system(...controller, 'status'), /^2 Nodes: 2 initialized$/m)
  }
  await Promise.all([...(await podsOf('rollcall-agent')).map(onMachines), inController()])
  await bundled(t)
}

/** Writes the file for a bug report, and a recording of the vCenter, by the controller's own account. */
async function bundled(t: Test): Promise<void> {
  const page = await readFile(`${root}/docs/bundle.md`, 'utf8')
  const [, inPod = ''] = /^ {4}kubectl (.* exec .*) > rollcall-bundle\.txt$/m.exec(page) ?? []
  const text = await kubectl(...inPod.split(' '))
  for (const title of ['versions', 'configuration', 'doctor', 'status', 'reports'])
    t.match(text, `===== ${title} =====`)
  t.match(text, / 0 fail/)
  t.match(text, /^2 Nodes: 2 initialized$/m)
  t.notOk(text.includes(stage.vcsim.password))
  const recording = await kubectl(...inPod.split(' '), '--vcenter', 'main')
  t.match(JSON.parse(recording), { recording: 1 })
  t.notOk(recording.includes(stage.vcsim.password))
}

/** What a cluster's user would look at, for a failure of the test. */
async function tell(t: Test): Promise<void> {
  for (const what of ['nodes', 'nodereports', 'pods', 'daemonsets', 'deployments', 'events'])
    t.comment(await system('get', what, '--output=wide').catch(String))
  t.comment(await system('describe', 'daemonsets,pods').catch(String))
}

interface PodName {
  readonly name: string
  readonly node: string
}

async function podsOf(app: string): Promise<PodName[]> {
  const listed = await system('get', 'pods', '-l', `app.kubernetes.io/name=${app}`, '-o', 'json')
  const { items } = JSON.parse(listed) as {
    items: { metadata: { name: string }; spec: { nodeName: string } }[]
  }
  return items.map(({ metadata, spec }) => ({ name: metadata.name, node: spec.nodeName }))
}

async function leaderDeleted(t: Test): Promise<void> {
  const lease = 'rollcall-controller'
  const holder = () => leases.last(lease)?.spec.holderIdentity ?? ''
  await leases.until('somebody leads', () => holder() !== '')
  const [leader = ''] = holder().split('_')
  const before = leases.of(lease).length
  await system('delete', 'pod', leader, '--wait=false')
  await leases.until('another leads', () => holder() !== '' && !holder().startsWith(leader))
  const given = leases
    .of(lease)
    .slice(before)
    .map(({ object }) => object.spec.holderIdentity ?? '')
  t.ok(given.includes(''), `the Lease was given back: ${given.join(', ')}`)
  await rolledOut(t)
}

async function registeredAnew(t: Test, host: Host): Promise<void> {
  const { name } = host.machine
  const uid = nodes.last(name)?.metadata.uid
  const before = nodes.of(name).length
  await kubectl('delete', 'node', name)
  await host.stopKubelet()
  await host.startKubelet()
  await kubectl('label', 'node', name, `${CONTROL_PLANE}=`)
  t.not(await registered(t, name, before), uid)
  await initialized(t, host)
}
