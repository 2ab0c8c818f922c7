/** The demo, from the first server to the last: its parts are in `roll-call.ts` and `ending.ts`. */
import { once } from 'node:events'
import { binary } from '../../build/binaries.ts'
import { serverBinary } from '../servers/build.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import { eventsOf } from '../world/objects.ts'
import type { Program } from '../world/program.ts'
import { endsOf, openOwnStage } from '../world/stage.ts'
import { checkForger, checkNode, type ExpectedNode } from './check.ts'
import { type EndingTimes, ending } from './ending.ts'
import { explainForgery, forgery, initializedAfter, rollCall } from './roll-call.ts'
import { createNarrator, type Narrator } from './screen.ts'
import { type DemoOptions, FORGER, kubectl, look, type Show, shown, startController } from './show.ts'
import { renderSummary, type Summary } from './summary.ts'

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
