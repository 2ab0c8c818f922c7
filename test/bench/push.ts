import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../fixtures/until.ts'
import { startController } from '../world/controller.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { isShutDown } from '../world/objects.ts'
import { LABELS } from '../world/stage.ts'
import type { BenchStage, Cast } from './stage.ts'
import { startVCenterGauge, type VCenterGauge } from './vcenter-gauge.ts'

/** How long a power-off took to become a taint, milliseconds; the parts are one after the other. */
export interface PushLatency {
  /** From the request to the simulator to the taint in a watch of Nodes. */
  readonly total: number
  /** Nothing was asked of vCenter: the time until the controller's next poll. */
  readonly unasked: number
  /** From then until vCenter's answer had arrived. */
  readonly vCenter: number
  /** The rest: the controller and the API server. */
  readonly rollcall: number
}

export interface PushFigures {
  readonly nodes: number
  readonly changes: readonly PushLatency[]
  /** VMs whose Nodes were not tainted in the end, or without word from vCenter. */
  readonly lost: readonly string[]
  /** From a VM's destruction to the end of its Node, beyond what is configured; milliseconds. */
  readonly deletions: readonly number[]
  readonly quietSeconds: number
  /** Calls to vCenter while nothing happened. */
  readonly operations: Readonly<Record<string, number>>
}

export interface PushOptions {
  readonly stage: BenchStage
  /** How many VMs are powered off, and how many destroyed. */
  readonly changes: number
  readonly deletions: number
  readonly quietSeconds: number
  readonly random: () => number
  readonly progress: (text: string) => void
}

const PATIENCE = 600_000
const ABSENT_SECONDS = 10
const LIFECYCLE = { absentFor: `${ABSENT_SECONDS}s`, confirmations: 3, leaderAge: '1s' }
/** Without a call but the open poll for so long, all is settled; milliseconds. */
const SETTLED = 15_000
/** From one power-off to the next at most, milliseconds. */
const GAP = 1_500

/** All Nodes are initialized and vCenter pushes; then VMs are powered off at random times, and some destroyed. */
export async function benchPush(options: PushOptions): Promise<PushFigures> {
  const { stage, progress, random } = options
  await using cast = await stage.enter()
  await using gauge = await startVCenterGauge(stage.vcsim, stage.dir)
  await cast.report()
  await using controller = await startController({
    cluster: stage.cluster,
    vcsim: gauge.vcsim,
    dir: stage.dir,
    labels: LABELS,
    lifecycle: LIFECYCLE,
    args: ['--log-level=warn'],
  })
  await cast.initialized(PATIENCE)
  progress('initialized; waiting until vCenter pushes the changes of each VM')
  await settled(stage, cast, gauge)
  await stage.vcsim.resetCalls()
  progress(`looking on for ${options.quietSeconds} s`)
  await sleep(options.quietSeconds * 1000)
  const { operations } = await stage.vcsim.calls()
  const order = shuffled(cast.members, random)
  progress(`powering ${options.changes} VMs off`)
  const off = order.slice(0, options.changes)
  const measured = await powerOff(stage, cast, off, random)
  progress(`destroying ${options.deletions} VMs`)
  const deletions: number[] = []
  for (const member of order.slice(options.changes, options.changes + options.deletions))
    deletions.push((await destroy(stage, cast, member)) - ABSENT_SECONDS * 1000)
  const exit = controller.exit()
  if (exit) throw new Error(`the controller ended with ${exit.signal ?? exit.code}`)

  const changes: PushLatency[] = []
  const lost: string[] = []
  for (const { member, sentAt } of measured) {
    const change = partsOf(sentAt, member.vm.ref, taintedAt(cast, member.name), gauge)
    if (change === undefined) lost.push(member.name)
    else changes.push(change)
  }
  const { quietSeconds } = options
  return { nodes: cast.members.length, changes, lost, deletions, quietSeconds, operations }
}

type Member = Cast['members'][number]

async function settled({ vcsim }: BenchStage, { members }: Cast, { polls }: VCenterGauge): Promise<void> {
  const news = async () => {
    const { total, operations } = await vcsim.calls()
    return total - (operations.WaitForUpdatesEx ?? 0)
  }
  const told = () => {
    const seen = new Set(polls.flatMap(({ vms }) => [...vms]))
    return members.every(({ vm }) => seen.has(vm.ref))
  }
  let calls = await news()
  let since = performance.now()
  await until(
    'vCenter has told of all VMs, and nothing else is asked',
    async () => {
      await sleep(1_000)
      const now = await news()
      if (now !== calls) since = performance.now()
      calls = now
      return performance.now() - since > SETTLED && told()
    },
    PATIENCE,
  )
}

/** One after the other, each at its own time, whether or not the one before has had its effect. */
async function powerOff({ vcsim }: BenchStage, cast: Cast, members: readonly Member[], random: () => number) {
  const measured: { member: Member; sentAt: number }[] = []
  for (const member of members) {
    await sleep(random() * GAP)
    measured.push({ member, sentAt: performance.now() })
    await vcsim.setState({ vm: member.vm.ref, powerState: 'poweredOff' })
  }
  const all = () => members.every(({ name }) => taintedAt(cast, name) !== undefined)
  // What does not come is told as lost.
  await cast.nodes.until('all are tainted', all, 30_000).catch(() => undefined)
  return measured
}

/** Resolves with the milliseconds from the VM's end to that of its Node; the VM's takes a moment, which counts as well. */
async function destroy(
  { cluster, vcsim }: BenchStage,
  { nodes }: Cast,
  { name, vm }: Member,
): Promise<number> {
  await loseHeartbeats(cluster, name)
  const start = performance.now()
  await vcsim.govc('vm.destroy', vm.name)
  try {
    await nodes.until(`Node ${name} is deleted`, () => nodes.last(name) === undefined, 60_000)
  } catch (error) {
    const { body } = await cluster.request('GET', `/apis/rollcall.dev/v1alpha1/nodereports/${name}`)
    throw new Error(`Node ${name} is not deleted: ${JSON.stringify(body)}`, { cause: error })
  }
  return (nodes.of(name).at(-1)?.at ?? Number.NaN) - start
}

function taintedAt({ nodes }: Cast, name: string): number | undefined {
  return nodes.of(name).find(({ object }) => isShutDown(object))?.at
}

function partsOf(
  sentAt: number,
  vm: string,
  taintedAt: number | undefined,
  { polls }: Pick<VCenterGauge, 'polls'>,
): PushLatency | undefined {
  const poll = polls.find(({ answeredAt, vms }) => answeredAt >= sentAt && vms.has(vm))
  if (taintedAt === undefined || poll === undefined) return undefined
  const askedAt = Math.max(sentAt, poll.openedAt)
  return {
    total: taintedAt - sentAt,
    unasked: askedAt - sentAt,
    vCenter: poll.answeredAt - askedAt,
    rollcall: taintedAt - poll.answeredAt,
  }
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
