/** The demo's story: Nodes are proven, a forger comes, VMs go, are off, move, and cannot be seen. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Condition } from '../../agent/shared/node-report.ts'
import { binary } from '../../build/binaries.ts'
import { until } from '../fixtures/until.ts'
import { serverBinary } from '../servers/build.ts'
import type { Cluster } from '../servers/cluster.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import type { Controller } from '../world/controller.ts'
import { heartbeat, loseHeartbeats } from '../world/kubelet.ts'
import {
  address,
  condition,
  eventsOf,
  isInitialized,
  isShutDown,
  type NodeObject,
  type ReportObject,
} from '../world/objects.ts'
import type { Program } from '../world/program.ts'
import { endsOf, type Member, openOwnStage, type Stage } from '../world/stage.ts'
import {
  ABSENT_FOR,
  checkEnding,
  checkForger,
  checkNode,
  type EndingEvidence,
  type ExpectedNode,
  HOLD,
  NAMES_PRIVILEGE,
  REFUSED_BECAUSE,
  type Snapshot,
} from './check.ts'
import { createNarrator, type DemoScreen, type Narrator, type NodeProgress } from './screen.ts'
import { renderSummary, type Summary } from './summary.ts'

export interface DemoOptions {
  /** How many VMs become Nodes. */
  readonly nodes: number
  /** Whether everything goes on running at the end, to be looked at. */
  readonly keep: boolean
  readonly screen: DemoScreen
  readonly env: NodeJS.ProcessEnv
  /** Ends the demo at once, or the looking around of `keep`. */
  readonly signal: AbortSignal
}

/** All that plays a part. */
interface Show extends DemoOptions {
  readonly stage: Stage
  readonly tell: Narrator
  readonly cast: readonly ExpectedNode[]
  /** The first of the cast: the forger says that it is its VM, and runs in one of its own. */
  readonly victim: ExpectedNode
  readonly forgersVM: VcsimVM
  controller: Controller
  /** Those that should run, by Node. */
  readonly agents: Map<string, Program>
}

const LIFECYCLE = { absentFor: `${ABSENT_FOR / 1000}s`, confirmations: 3, leaderAge: '2s' } as const
const FORGER = 'forger'
/** What the VMs of a cluster are like, and the instance type that the CPI would give them. */
const ZONES = [
  {
    zone: 'zone-a',
    cluster: 'DC0_C0',
    subnet: '10.20.0',
    vm: { cpus: 4, memoryMB: 16_384, guestId: 'ubuntu64Guest' },
    instanceType: 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
  },
  {
    zone: 'zone-b',
    cluster: 'DC0_C1',
    subnet: '10.20.1',
    vm: { cpus: 8, memoryMB: 32_768, guestId: 'vmwarePhoton64Guest' },
    instanceType: 'vsphere-vm.cpu-8.mem-32gb.os-photon',
  },
] as const

/** What was waited for did not come. */
class NotShown extends Error {
  override name = 'NotShown'
}

/**
 * Plays the whole demo; when it has settled, nothing is left of it.
 *
 * @returns whether all was as it should be
 * @throws where it could not be shown, also because of the signal
 */
export async function demo(options: DemoOptions): Promise<boolean> {
  const { nodes: count, keep, screen } = options
  const start = performance.now()
  await using stack = new AsyncDisposableStack()
  screen.print(...INTRODUCTION, '')
  const show = await setUp(options, stack)
  const setUpTook = performance.now() - start
  const { stage, cast, victim } = show
  screen.print('')

  const problems = await shown(() => rollCall(show))
  const before = await look(stage.cluster)
  let right = 0
  for (const expected of cast) {
    const { name } = expected
    const found = checkNode(expected, before.nodes.get(name), before.reports.get(name))
    if (found.length === 0) right += 1
    problems.push(...found.map((problem) => `${name}: ${problem}`))
  }
  let forged = problems.length > 0 ? undefined : await shown(() => forgery(show))
  await kubectl(show, 'kubectl get nodes -o wide')
  await kubectl(show, 'kubectl get nodereports')
  if (forged?.length === 0) {
    await explainForgery(show)
    const events = eventsOf(stage.events, FORGER)
    forged = checkForger(FORGER, victim.name, { before, after: await look(stage.cluster), events })
  }
  if (forged?.length === 0)
    screen.print(
      '',
      `${FORGER} keeps its taint and has no provider ID; the Node and the NodeReport of ${victim.name} are the same, byte for byte.`,
    )
  problems.push(...(forged ?? []))
  const calls = await stage.vcsim.calls()
  const times: EndingTimes = {}
  if (problems.length === 0) problems.push(...(await shown(() => ending(show, times))))

  const evidence = problems.length > 0 ? diagnose(show) : []
  const sessions = await stage.vcsim.sessions()
  if (keep) await keepRunning(show)
  problems.push(...(await stopPrograms(show)))
  await stack.disposeAsync()
  const summary: Summary = {
    nodes: count,
    right,
    forger: forged === undefined ? 'not tried' : forged.length === 0 ? 'refused' : 'wrong',
    setUp: setUpTook,
    initialized: cast.flatMap(({ name }) => initializedAfter(stage, name) ?? []),
    ...times,
    calls,
    sessions,
    total: performance.now() - start,
  }
  screen.print('', ...renderSummary(summary, screen.columns), '')
  if (problems.length === 0)
    screen.print(screen.style('green', 'All is as it should be, and nothing is left running.'))
  else
    screen.print(
      screen.style('red', 'Not all is as it should be:'),
      ...problems.map((line) => `  ${line}`),
      ...evidence,
    )
  return problems.length === 0
}

const INTRODUCTION = [
  'Rollcall on a real Kubernetes API server and a simulated vCenter. There are no kubelets: the demo',
  'registers Nodes as they would, and runs what a Deployment, a DaemonSet and a systemd unit would run.',
  'The last to come is a forger: it says that it is the VM of another. Then VMs go, are off, move, and are not to be seen.',
]

/** Builds what is not built yet, and starts all that runs before the first Node is registered. */
async function setUp(options: DemoOptions, stack: AsyncDisposableStack): Promise<Show> {
  const { nodes: count, screen, env, signal } = options
  const tell = createNarrator(screen)
  const step: Narrator['step'] = (...given) => {
    signal.throwIfAborted()
    return tell.step(...given)
  }
  await step(
    'binaries',
    async () => {
      // What is quick to build comes first, so that a missing tool shows early.
      for (const name of ['vcsim', 'rpctool', 'govc', 'etcd', 'kube-apiserver', 'kubectl'] as const)
        await serverBinary(name, env, signal)
      for (const name of ['rollcall-controller', 'rollcall-agent'] as const) {
        signal.throwIfAborted()
        await binary(name)
      }
    },
    () => 'kube-apiserver, etcd, kubectl, vCenter simulator, controller, agent: built once, then kept',
  )
  const stage = await step(
    'servers',
    () => openOwnStage(endsOf(stack), { hosts: 3, vms: count + 1 }),
    ({ cluster: { url } }) =>
      `etcd and kube-apiserver at ${url}, with CRD, admission policies, RBAC; and a simulated vCenter`,
  )
  const [cast, forgersVM] = await step(
    'vCenter',
    () => dress(stage.vcsim),
    () => `2 clusters, 6 hosts, ${count + 1} VMs (one of them a forger's), tags for zones and region`,
  )
  const controller = await step(
    'controller',
    () => startController(stage, 'controller-0'),
    ({ url }) => `runs and is the leader; metrics at ${url}/metrics`,
  )
  const [victim] = cast
  if (victim === undefined) throw new Error('a forger needs a VM to lay claim to')
  return { ...options, stage, tell, cast, victim, forgersVM, controller, agents: new Map() }
}

/** Sets the VMs' sizes and what VMware Tools says of each guest; resolves with what is to become of them. */
async function dress(vcsim: Vcsim): Promise<[cast: ExpectedNode[], forgersVM: VcsimVM]> {
  const vms = await vcsim.vms()
  const digits = String(vms.length - 1).length
  const all = vms.map((vm, i) => {
    const site = ZONES.find(({ cluster }) => cluster === vm.cluster)
    if (!site) throw new Error(`VM ${vm.name} is in cluster ${vm.cluster}, for which the demo has no zone`)
    // The names have nothing in common with those of VMs: Rollcall does not go by names.
    const name = i === vms.length - 1 ? FORGER : `worker-${String(i + 1).padStart(digits, '0')}`
    return { ...site, size: site.vm, name, vm, address: `${site.subnet}.${11 + i}` }
  })
  await vcsim.setState(...all.map(({ vm, size }) => ({ vm: vm.ref, ...size })))
  await vcsim.setGuest(
    ...all.map(({ name, vm, address }) => ({
      vm: vm.ref,
      hostName: name,
      nics: [{ addresses: [`${address}/24`] }],
    })),
  )
  const last = all.pop()
  if (last === undefined) throw new Error('a forger needs a VM of its own')
  return [all, last.vm]
}

function startController(stage: Stage, identity: string): Promise<Controller> {
  return stage.controller({ identity, datacenters: ['DC0'], lifecycle: LIFECYCLE })
}

/** Runs one part; resolves with what was waited for in vain. */
async function shown(part: () => Promise<string[]>): Promise<string[]> {
  try {
    return await part()
  } catch (error) {
    if (error instanceof NotShown) return [error.message]
    throw error
  }
}

/**
 * Looks until there is an answer other than undefined. Fails where none comes in time, or one of the programs has ended:
 * neither the controller nor an agent has a reason to, before it is asked.
 */
async function seen<T>(
  { controller, agents, signal }: Show,
  what: string,
  found: (elapsed: number) => T | undefined,
  within = 60_000,
): Promise<{ readonly value: T; readonly after: number }> {
  const start = performance.now()
  for (;;) {
    const after = performance.now() - start
    const value = found(after)
    if (value !== undefined) return { value, after }
    const programs = [
      ['controller', controller],
      ...[...agents].map(([name, agent]) => [`agent of ${name}`, agent]),
    ]
    for (const [name, program] of programs as [string, Program][]) {
      const exit = program.exit()
      if (exit)
        throw new NotShown(
          `the ${name} ended with ${exit.signal ?? `code ${exit.code}`} while the demo waited until ${what}`,
        )
    }
    if (after > within) throw new NotShown(`gave up after ${within / 1000} s waiting until ${what}`)
    await sleep(50, undefined, { signal })
  }
}

/** Waits as {@link seen}, and says what for. */
function awaited<T>(show: Show, what: string, found: (elapsed: number) => T | undefined) {
  return seen(show, what, (elapsed) => {
    const value = found(elapsed)
    if (value === undefined) show.tell.wait(what)
    return value
  })
}

async function look({ request }: Pick<Cluster, 'request'>): Promise<Snapshot> {
  const list = async <T extends { readonly metadata: { readonly name: string } }>(path: string) => {
    const { status, body } = await request<{ items: T[] }>('GET', path)
    if (status !== 200) throw new Error(`the API server does not list ${path}: ${status}`)
    return new Map(body.items.map((item) => [item.metadata.name, item]))
  }
  return {
    nodes: await list<NodeObject>('/api/v1/nodes'),
    reports: await list<ReportObject>('/apis/rollcall.dev/v1alpha1/nodereports'),
  }
}

/** Returns milliseconds from a Node's registration to the end of its taint. */
function initializedAfter({ nodes }: Stage, name: string): number | undefined {
  const versions = nodes.of(name)
  const [first, done] = [versions[0], versions.find(({ object }) => isInitialized(object))]
  return first && done && done.at - first.at
}

/** What the Node itself says counts; what only the report knows comes from there. */
function rowOf(stage: Stage, name: string): NodeProgress {
  const [node, report] = [stage.nodes.last(name), stage.reports.last(name)]
  const labels: Partial<Record<string, string>> = node?.metadata.labels ?? {}
  const initialized = condition(report, 'Initialized')
  const refusal = initialized?.status === 'False' ? initialized.reason : ''
  const decided = refusal === '' ? 'checking' : 'refused'
  const tainted = report === undefined ? 'tainted' : decided
  const state = node === undefined ? 'waiting' : isInitialized(node) ? 'initialized' : tainted
  const { identityLevel: level = '', vm } = report?.status ?? {}
  const zone = labels['topology.kubernetes.io/zone']
  const type = labels['node.kubernetes.io/instance-type']
  const got = [vm?.name, vm?.host, zone, address(node, 'InternalIP'), type].map((text) => text ?? '')
  return { name, state, level, details: state === 'initialized' ? got : [refusal] }
}

/** Shows these Nodes until each is as wanted, while they are made. */
async function watched(
  show: Show,
  names: readonly string[],
  { what, isDone, make }: { what: string; isDone: (row: NodeProgress) => boolean; make: () => Promise<void> },
): Promise<void> {
  const { stage, tell } = show
  const since = stage.nodes.versions[0]?.at ?? performance.now()
  let failure: unknown
  const making = make().catch((error: unknown) => {
    failure = error
  })
  try {
    await seen(show, what, () => {
      if (failure !== undefined) throw failure
      const rows = names.map((name) => rowOf(stage, name))
      for (const row of rows) tell.node(row, performance.now() - since)
      return rows.every(isDone) || undefined
    })
  } finally {
    await making
  }
}

/** Registers the Nodes, starts an agent for each, and shows them until all are initialized and proven. */
async function rollCall(show: Show): Promise<string[]> {
  const { stage, cast, agents } = show
  const names = cast.map(({ name }) => name)
  await watched(show, names, {
    what: 'all Nodes are initialized and proven',
    isDone: ({ state, level }) => state === 'initialized' && level === 'proven',
    async make() {
      const members: Member[] = []
      for (const [i, { name, vm, address }] of cast.entries()) {
        // Both kinds in both zones.
        const agentOf = Math.floor(i / ZONES.length) % 2 === 0 ? 'kubelet' : 'pod'
        members.push(await stage.member(name, { vm, addresses: [`${address}/24`], agentOf }))
      }
      for (const member of members) agents.set(member.name, await member.agent())
    },
  })
  return []
}

/** Lets the forger register its Node and report among the others, and shows it until it is refused or let in. */
async function forgery(show: Show): Promise<string[]> {
  const { stage, agents, victim, forgersVM } = show
  await watched(show, [FORGER], {
    what: `something is decided about ${FORGER}`,
    isDone: ({ state }) => state === 'refused' || state === 'initialized',
    async make() {
      const member = await stage.member(FORGER, { vm: victim.vm, runsIn: forgersVM })
      agents.set(FORGER, await member.agent())
    },
  })
  await eventOf(show, FORGER, REFUSED_BECAUSE)
  return []
}

/** Waits for an Event of this reason, which comes a moment after what it speaks of, if at all. */
async function eventOf({ stage, signal }: Show, node: string, reason: string): Promise<string[]> {
  const found = () => eventsOf(stage.events, node).filter((event) => event.reason === reason)
  const start = performance.now()
  while (found().length === 0 && performance.now() - start < 60_000) await sleep(50, undefined, { signal })
  return found().map(({ message }) => `Event ${reason}: ${message}`)
}

/** Says what the forger tried, and shows what an operator sees of it. */
async function explainForgery(show: Show): Promise<void> {
  const { forgersVM, victim, screen } = show
  screen.print(
    '',
    `${screen.style('bold', 'The forger.')} Node ${FORGER} runs in a VM of its own, ${forgersVM.name}, and has a valid credential of its own,`,
    `but reports the serial number and the MAC addresses of ${victim.vm.name}, the VM of ${victim.name}.`,
  )
  await kubectl(show, `kubectl describe nodereport ${FORGER} | grep -B5 'Type: *IdentityVerified'`)
  await kubectl(show, `kubectl events --for node/${FORGER}`)
}

/** Prints a shell's command with kubectl in it and what it answers, as someone at that shell would see it. */
async function kubectl({ stage, screen, env, signal }: Show, command: string): Promise<void> {
  const folder = dirname(await serverBinary('kubectl', env))
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], {
    // Its cache of what the API server has goes into the home folder.
    env: {
      PATH: `${folder}${delimiter}${env.PATH ?? ''}`,
      KUBECONFIG: stage.cluster.adminKubeconfig,
      HOME: stage.dir,
    },
    signal,
  })
  screen.print('', screen.style('bold', `$ ${command}`), stdout.trimEnd())
}

type EndingTimes = Pick<Summary, 'deletedAfter' | 'taintedAfter'>

const sayCondition = ({ type, status, reason, message }: Condition) =>
  `${type} is ${status}, ${reason}: ${message}`

/**
 * Shows what becomes of Nodes whose VMs go, are off, move, or cannot be seen: one after the other, explained on screen. The
 * first Node is spared: the forger's victim is looked at to the end.
 *
 * @param times is told what was measured, as far as it came
 */
async function ending(show: Show, times: EndingTimes): Promise<string[]> {
  const { stage, agents, tell, cast, signal } = show
  const { cluster, vcsim, nodes, reports } = stage
  const [destroyed, off, moved] = cast.slice(1).toReversed()
  const there = cast.find(({ zone }) => zone !== moved?.zone)
  if (!destroyed || !off || !moved || !there) throw new Error('the ending needs 4 Nodes in two zones')
  const pending = (name: string) => condition(reports.last(name), 'DeletionPending')
  const end = async (name: string) => {
    await agents.get(name)?.stop()
    agents.delete(name)
  }
  const what = 'vCenter is asked to push what becomes of the VMs'
  await until(what, async () => {
    signal.throwIfAborted()
    tell.wait(what)
    return ((await vcsim.calls()).operations.ModifyListView ?? 0) > 0
  })
  const before = await look(cluster)

  tell.open(
    'A VM is destroyed:',
    `${destroyed.vm.name}, that of ${destroyed.name}. Its kubelet and its agent are silent from now on. It takes ${LIFECYCLE.confirmations} proofs that the VM is gone, over ${LIFECYCLE.absentFor} here and 5 minutes by default, and the Node is deleted.`,
  )
  await end(destroyed.name)
  await loseHeartbeats(cluster, destroyed.name)
  await vcsim.govc('vm.destroy', destroyed.vm.name)
  const said: Condition[] = []
  const deletion = await awaited(show, `Node ${destroyed.name} is deleted`, (elapsed) => {
    const now = pending(destroyed.name)
    if (now !== undefined && now.message !== said.at(-1)?.message) {
      said.push(now)
      tell.say(sayCondition(now), elapsed)
    }
    return nodes.last(destroyed.name) === undefined || undefined
  })
  times.deletedAfter = deletion.after
  tell.say(`Node ${destroyed.name} is deleted.`, deletion.after)
  for (const event of await eventOf(show, destroyed.name, 'NodeDeleted')) tell.say(event)

  tell.open(
    'Another VM is powered off:',
    `${off.vm.name}, that of ${off.name}, which is still Ready: nobody has missed its kubelet yet. vCenter's push is what counts.`,
  )
  await end(off.name)
  await vcsim.setState({ vm: off.vm.ref, powerState: 'poweredOff' })
  const taint = await awaited(
    show,
    `Node ${off.name} is tainted`,
    () => isShutDown(nodes.last(off.name)) || undefined,
  )
  times.taintedAfter = taint.after
  tell.say(
    `Node ${off.name} has the taint node.cloudprovider.kubernetes.io/shutdown:NoSchedule.`,
    taint.after,
  )
  for (const event of await eventOf(show, off.name, 'VMShutDown')) tell.say(event)

  tell.open(
    'A third one is moved (vMotion):',
    `${moved.vm.name}, that of ${moved.name}, from ${moved.vm.host} in ${moved.zone} to ${there.vm.host} in ${there.zone}. Volumes and pods may rest on the old zone, so the labels stay until a person decides.`,
  )
  await vcsim.move({ vm: moved.vm.ref, host: there.vm.host })
  const move = await awaited(show, `the report of ${moved.name} says so`, () => {
    const found = condition(reports.last(moved.name), 'TopologyResolved')
    return found?.status === 'False' ? found : undefined
  })
  tell.say(sayCondition(move.value), move.after)

  const left = cast.flatMap(({ name }) => (name === destroyed.name ? [] : [name]))
  const loss = await losePrivileges(
    show,
    left,
    left.filter((name) => name !== off.name),
  )
  const after = await look(cluster)
  const problems = checkEnding(
    { destroyed: destroyed.name, poweredOff: off.name, moved: moved.name },
    {
      before,
      after,
      events: stage.events.versions.map(({ object }) => object),
      deletedAfter: deletion.after,
      said,
      taintedAfter: taint.after,
      moved: move.value,
      ...loss,
    },
  )
  if (problems.length === 0)
    tell.say(
      `Only ${destroyed.name} was deleted, whose VM is gone. The ${after.nodes.size} other Nodes are as they were, byte for byte, labels of ${moved.name} included, but for the taint of ${off.name}.`,
    )
  return problems
}

/**
 * Takes the account's privileges away while no kubelet is heard, and starts the controller anew, so that it knows nothing
 * of the time before; gives them back after a while, and waits until every VM is found again.
 */
async function losePrivileges(
  show: Show,
  names: readonly string[],
  running: readonly string[],
): Promise<Pick<EndingEvidence, 'whileLost' | 'lostFor'>> {
  const { stage, tell, signal } = show
  const { cluster, vcsim, nodes, reports } = stage
  const pending = (name: string) => condition(reports.last(name), 'DeletionPending')
  tell.open(
    'The account loses its read privilege',
    `on everything, while no kubelet is heard: all ${names.length} Nodes are NotReady. And the controller is started anew, so that it has never seen a VM. Its searches succeed, and find none.`,
  )
  await loseHeartbeats(cluster, ...names)
  const start = performance.now()
  await vcsim.revoke()
  signal.throwIfAborted()
  await show.controller.stop()
  show.controller = await startController(stage, 'controller-1')
  const { value: whileLost } = await awaited(show, 'each report says what is missing', () => {
    const said = names.flatMap((name) => {
      const found = pending(name)
      const named = found?.status === 'Unknown' && NAMES_PRIVILEGE.test(found.message)
      return named ? [[name, found] as const] : []
    })
    return said.length === names.length ? new Map(said) : undefined
  })
  const elapsed = performance.now() - start
  tell.say(`All ${names.length} Nodes are kept, and each report says why. That of ${names[0]}:`, elapsed)
  for (const found of [...whileLost.values()].slice(0, 1)) tell.say(sayCondition(found))
  const held = await awaited(show, 'more than twice the time of a deletion is over', (elapsed) => {
    const count = names.filter((name) => nodes.last(name) !== undefined).length
    return elapsed > HOLD || count < names.length ? count : undefined
  })
  tell.say(`${held.value} of ${names.length} Nodes are there.`, performance.now() - start)
  await vcsim.restore()
  await Promise.all(running.map((name) => heartbeat(cluster, name)))
  const lostFor = performance.now() - start
  const isFound = (name: string) =>
    condition(reports.last(name), 'VMFound')?.status === 'True' && pending(name)?.status === 'False'
  const what = 'each VM is found again, now that the privilege is back'
  const back = await awaited(show, what, () => names.every(isFound) || undefined)
  tell.say('The privilege is back, and each VM is found again.', back.after)
  return { whileLost, lostFor }
}

/** Lists what someone needs to find out why it went wrong: Events, and the ends of the logs. */
function diagnose({ stage, controller, agents }: Show): string[] {
  const events = stage.events.versions.map(
    ({ object: { type, reason, message, involvedObject } }) =>
      `${type} ${involvedObject.name} ${reason}: ${message}`,
  )
  const last = [...agents].flatMap(([name, { stderr }]) => stderr.slice(-1).map((line) => `${name}: ${line}`))
  const section = (title: string, lines: readonly string[]) => [
    '',
    `${title}:`,
    ...(lines.length > 0 ? lines : ['none']).map((line) => `  ${line}`),
  ]
  return [
    ...section('Events', events),
    ...section("the end of the controller's log", controller.stderr.slice(-20)),
    ...section('the last word of each agent', last),
  ]
}

/** Says how to look around, and waits for the signal. */
async function keepRunning({ stage, controller, victim, screen, env, signal }: Show): Promise<void> {
  const { cluster, vcsim } = stage
  screen.print(
    '',
    screen.style('bold', 'Everything goes on running. In another shell:'),
    '',
    `  export KUBECONFIG=${cluster.adminKubeconfig}`,
    `  alias kubectl=${await serverBinary('kubectl', env)}`,
    `  kubectl describe nodereport ${victim.name}   # what was reported, what vCenter says, why it is proven`,
    `  kubectl describe nodereport ${FORGER}   # and why this one is not`,
    `  kubectl describe node ${FORGER}`,
    `  kubectl get events`,
    '',
    `  export GOVC_URL=${vcsim.url}/sdk GOVC_TLS_CA_CERTS=${vcsim.certificateFile}`,
    `  export GOVC_USERNAME='${vcsim.username}' GOVC_PASSWORD='${vcsim.password}'`,
    // A session that govc kept would count as left behind by the controller.
    `  export GOVC_PERSIST_SESSION=false`,
    `  alias govc=${await serverBinary('govc', env)}`,
    `  govc vm.info -e ${victim.vm.name}   # with guestinfo.rollcall.claim, by which the VM names its Node`,
    '',
    `  curl ${controller.url}/metrics`,
    '',
    'No kubelet and no garbage collector run here. So a Node whose VM you destroy stays Ready, and Rollcall keeps',
    'it (NodeReady); and the NodeReport of a Node that was deleted stays behind.',
    '',
    screen.style('bold', 'Ctrl-C ends it.'),
  )
  if (!signal.aborted) await once(signal, 'abort')
}

/** A Pod of the Deployment has this long, milliseconds, before it is killed. */
const CONTROLLER_WITHIN = 15_000

/**
 * Ends the agents, then the controller, as a kubelet would.
 *
 * @returns one sentence for each that did not end as it should; the controller owes vCenter its sessions back. What had
 *   ended before is not mentioned again
 */
async function stopPrograms({ stage, controller, agents }: Show): Promise<string[]> {
  const problems: string[] = []
  const end = async (name: string, program: Program) => {
    const { code, signal } = await program.stop()
    if (code !== 0) problems.push(`the ${name} ended with ${signal ?? `code ${code}`} on SIGTERM`)
  }
  const running = [...agents].filter(([, agent]) => !agent.exit())
  await Promise.all(running.map(([name, agent]) => end(`agent of ${name}`, agent)))
  if (controller.exit()) return problems
  const start = performance.now()
  await end('controller', controller)
  const took = Math.round(performance.now() - start)
  if (took > CONTROLLER_WITHIN)
    problems.push(`the controller took ${took} ms to end, ${CONTROLLER_WITHIN} are allowed`)
  const { soap, rest } = await stage.vcsim.sessions()
  if (soap + rest > 0) problems.push(`the controller left ${soap} SOAP and ${rest} REST sessions in vCenter`)
  return problems
}
