/** The demo, from the first server to the last: its parts are in `roll-call.ts` and `ending.ts`. */
import { once } from 'node:events'
import { binary } from '../../build/binaries.ts'
import { serverBinary } from '../servers/build.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import type { Program } from '../world/program.ts'
import { endsOf, openOwnStage } from '../world/stage.ts'
import { checkNode, type ExpectedNode } from './check.ts'
import { ending } from './ending.ts'
import { forgery, rollCall } from './roll-call.ts'
import { createNarrator, formatDuration } from './screen.ts'
import { type DemoOptions, FORGER, look, type Show, shown, startController } from './show.ts'
import { row, summarize, type Times } from './summary.ts'

/** What the VMs of a cluster are like, and the instance type that the CPI would give them. */
const ZONES = {
  DC0_C0: {
    ...{ zone: 'zone-a', subnet: '10.20.0', instanceType: 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu' },
    size: { cpus: 4, memoryMB: 16_384, guestId: 'ubuntu64Guest' },
  },
  DC0_C1: {
    ...{ zone: 'zone-b', subnet: '10.20.1', instanceType: 'vsphere-vm.cpu-8.mem-32gb.os-photon' },
    size: { cpus: 8, memoryMB: 32_768, guestId: 'vmwarePhoton64Guest' },
  },
}

/**
 * Plays the whole demo; when it has settled, nothing is left of it.
 *
 * @returns whether all was as it should be
 * @throws where it could not be shown, also because of the signal
 */
export async function demo(options: DemoOptions): Promise<boolean> {
  const { keep, screen } = options
  const start = performance.now()
  await using stack = new AsyncDisposableStack()
  screen.print(...INTRODUCTION, '')
  const show = await setUp(options, stack)
  const setUpTook = performance.now() - start
  const { stage, cast } = show
  screen.print('')

  const problems = await shown(() => rollCall(show))
  const before = await look(stage)
  const wrong = cast.map((expected) => checkNode(expected, before)).filter((found) => found.length > 0)
  problems.push(...wrong.flat())
  const comes = problems.length === 0
  if (comes) problems.push(...(await shown(() => forgery(show, before))))
  const refused = problems.length === 0 ? '1 forger refused' : 'a forger was not refused as it should be'
  const forger = comes ? refused : 'the forger did not come'
  const summary = await summarize(show, cast.length - wrong.length, forger)
  const times: Times = {}
  if (problems.length === 0) problems.push(...(await shown(() => ending(show, times))))

  const evidence = problems.length > 0 ? diagnose(show) : []
  const { soap, rest } = await stage.vcsim.sessions()
  if (keep) await keepRunning(show)
  problems.push(...(await stopPrograms(show)))
  await stack.disposeAsync()
  const { deletedAfter, taintedAfter } = times
  const ended =
    deletedAfter === undefined || taintedAfter === undefined
      ? 'not shown to the end'
      : `1 Node deleted ${formatDuration(deletedAfter)} after its VM, 1 tainted ${formatDuration(taintedAfter)} after power-off`
  const took = [performance.now() - start, setUpTook].map(formatDuration)
  screen.print(
    '',
    ...summary,
    row('lifecycle', ended),
    row('sessions', `${soap} SOAP, ${rest} REST`),
    row('time', `${took[0]} in all, ${took[1]} of it to build and start the servers and the controller`),
    '',
  )
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
  const tell = createNarrator(screen, signal)
  const { step } = tell
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
    const { subnet, ...site } = vm.cluster === 'DC0_C0' ? ZONES.DC0_C0 : ZONES.DC0_C1
    // The names have nothing in common with those of VMs: Rollcall does not go by names.
    const name = i === vms.length - 1 ? FORGER : `worker-${String(i + 1).padStart(digits, '0')}`
    return { ...site, name, vm, address: `${subnet}.${11 + i}` }
  })
  await vcsim.setState(...all.map(({ vm, size }) => ({ vm: vm.ref, ...size })))
  const guest = (address: string) => ({ nics: [{ addresses: [`${address}/24`] }] })
  await vcsim.setGuest(
    ...all.map(({ name, vm, address }) => ({ vm: vm.ref, hostName: name, ...guest(address) })),
  )
  const last = all.pop()
  if (last === undefined) throw new Error('a forger needs a VM of its own')
  return [all, last.vm]
}

/** Lists what someone needs to find out why it went wrong: Events, and the ends of the logs. */
function diagnose({ stage, controller, agents }: Show): string[] {
  const events = stage.events.versions.map(
    ({ object }) => `${object.type} ${object.involvedObject.name} ${object.reason}: ${object.message}`,
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
  const end = async (name: string, program: Program) => {
    if (program.exit()) return []
    const { code, signal } = await program.stop(CONTROLLER_WITHIN)
    return code === 0 ? [] : [`the ${name} ended with ${signal ?? `code ${code}`} on SIGTERM`]
  }
  const ended = [...agents].map(([name, agent]) => end(`agent of ${name}`, agent))
  const problems = (await Promise.all(ended)).flat()
  if (controller.exit()) return problems
  problems.push(...(await end('controller', controller)))
  const { soap, rest } = await stage.vcsim.sessions()
  if (soap + rest > 0) problems.push(`the controller left ${soap} SOAP and ${rest} REST sessions in vCenter`)
  return problems
}
