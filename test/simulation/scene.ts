/** What the script of a scene can do: to machines and replicas, let time pass, and look at what people see. */
import { TAINT_UNINITIALIZED } from '../../controller/types/well-known.ts'
import type { Machine } from './model/machine.ts'
import { readyOf, type StoredNode, type StoredStatus } from './model/objects.ts'
import type { VCenterModel } from './model/vcenter.ts'
import type { SceneRecord } from './record.ts'
import type { Passing } from './run-world.ts'
import type { World } from './world.ts'

type Condition = StoredStatus['conditions'][number]
/** What a condition is to say. */
interface Wanted {
  readonly status?: 'True' | 'False' | 'Unknown'
  readonly reason?: string
  readonly message?: RegExp
}

export interface FixedScene<Name extends string>
  extends Pick<SceneRecord, 'events' | 'nodeWrites' | 'latched'> {
  readonly world: World
  /** The first vCenter. */
  readonly vCenter: VCenterModel
  readonly members: readonly Machine[]
  readonly cast: Readonly<Record<Name, Machine>>

  /** Lets time pass until so many milliseconds after the world began, or no time where that has been. */
  at(ms: number): Promise<void>
  pass(ms: number): Promise<void>
  /** Lets time pass until something holds; throws where it does not within an hour. */
  until(what: string, holds: () => boolean, why?: () => string): Promise<void>
  /** Waits for a condition of a Node's report, DeletionPending by default. */
  said(nodeName: string, wanted: Wanted, type?: string): Promise<Condition>
  /** Waits until Nodes are initialized, and their reports say so. */
  settled(...nodeNames: readonly string[]): Promise<void>
  /** Waits until the Nodes of these machines are deleted. */
  ends(...machines: readonly Machine[]): Promise<void>
  /** Waits until there is an Event of this reason on a Node. */
  told(nodeName: string, reason: string): Promise<void>
  /** Waits until the VM of a Node is known to be missing. */
  missing(nodeName: string): Promise<void>
  /** Waits until these are kept by the brake and by nothing else: all that time brings is there. */
  heldByBrake(...nodeNames: readonly string[]): Promise<void>
  /** Waits until each of these was asked for so many more times. */
  probed(times: number, ...nodeNames: readonly string[]): Promise<void>
  /** Waits until a series of the leader has this value. */
  counted(series: string, value: number): Promise<void>

  /** A machine that is new, with a Node, an agent, and the same habits as all others. */
  joins(nodeName: string, options?: Parameters<World['machines']['create']>[3]): Machine
  /** Nothing is heard of them any more, though they run. */
  silence(...machines: readonly Machine[]): void
  /** No vCenter lists them any more, though they run. */
  hide(...machines: readonly Machine[]): void
  /** Both, as if they were destroyed. */
  vanish(...machines: readonly Machine[]): void
  /** Registers their VMs again. */
  show(...machines: readonly Machine[]): void
  destroy(...machines: readonly Machine[]): void
  /** Kills the leader; resolves when another leads. */
  nextLeader(): Promise<void>

  node(name: string): StoredNode | undefined
  status(name: string): StoredStatus | undefined
  condition(name: string, type?: string): Condition | undefined
  isInitialized(name: string): boolean
  /** The status of the Ready condition of a Node. */
  ready(name: string): string | undefined
  /** How many of the cast still have the Nodes that they had at first. */
  kept(): number
  /** When Rollcall has deleted the Node of a machine, milliseconds. */
  deletedAt(machine: Machine): number | undefined
  /** The value of a series of the leader. */
  count(series: string): Promise<number | undefined>
}

/** Milliseconds of the model's time that any wait may take: longer than a machine that was never seen is missed. */
const PATIENCE = 3_600_000
/** Milliseconds after which a killed replica starts again. */
const RESTARTS = 10_000
const PENDING = 'DeletionPending'
const HELD_BY_BRAKE: Wanted = {
  status: 'True',
  reason: 'BrakeEngaged',
  message: /is gone, and the Node is kept for now: the deletion brake is engaged: [^;]+; [^;]+$/,
}

export function createScene<const Name extends string>(
  world: World,
  passing: Passing,
  record: SceneRecord,
  names: readonly Name[],
): FixedScene<Name> {
  const { api, timeline, judge, machines } = world
  const [vCenter] = world.vCenters
  if (vCenter === undefined) throw new Error('every world has a vCenter')
  const [, folder] = vCenter.folders

  function joins(nodeName: string, options?: Parameters<typeof machines.create>[3]): Machine {
    if (vCenter === undefined || folder === undefined) throw new Error('every vCenter has folders')
    const machine = machines.create(nodeName, vCenter, folder, options)
    machine.claims = 'with-nonce'
    machine.claimDelay = 0
    return machine
  }

  const members = names.map((name) => joins(name))
  const status = (name: string): StoredStatus | undefined => {
    const { status } = api.reports.get(name) ?? {}
    // What is said there of a former Node may stand for a while.
    return status?.nodeUID === api.nodes.get(name)?.metadata.uid ? status : undefined
  }
  const condition = (name: string, type = PENDING): Condition | undefined =>
    api.reports.get(name)?.status.conditions.find((each) => each.type === type)
  const isInitialized = (name: string): boolean =>
    api.nodes.get(name)?.spec.taints.every(({ key }) => key !== TAINT_UNINITIALIZED) === true
  const hasNode = ({ nodeName, nodeUID }: Machine): boolean =>
    api.nodes.get(nodeName)?.metadata.uid === nodeUID

  async function until(what: string, holds: () => boolean, why = () => ''): Promise<void> {
    const end = timeline.now + PATIENCE
    await passing.until(() => holds() || timeline.now > end)
    if (holds()) return
    const [violation] = judge.violations
    const broken = violation === undefined ? '' : `${violation.promise} is broken: ${violation.what}`
    throw new Error([`in vain: ${what}`, why(), broken].filter((line) => line !== '').join('\n'), {
      cause: timeline.trace(),
    })
  }

  async function said(
    nodeName: string,
    { status, reason, message }: Wanted,
    type = PENDING,
  ): Promise<Condition> {
    const find = (): Condition | undefined => {
      const found = condition(nodeName, type)
      const fits =
        (status ?? found?.status) === found?.status &&
        (reason ?? found?.reason) === found?.reason &&
        message?.test(found?.message ?? '') !== false
      return fits ? found : undefined
    }
    await until(
      `${type} of ${nodeName} is ${status ?? ''} ${reason ?? ''} ${message ?? ''}`,
      () => find() !== undefined,
      () => JSON.stringify(api.reports.get(nodeName)?.status),
    )
    const found = find()
    if (found === undefined) throw new Error(`${type} of ${nodeName} has changed again`)
    return found
  }

  /** Metrics are read now and then: not after every step. */
  async function counted(series: string, value: number): Promise<void> {
    for (let waited = 0; waited < PATIENCE && !passing.isOver(); waited += 1_000) {
      if ((await count(series)) === value) return
      await passing.pass(1_000)
    }
    throw new Error(`${series} is ${await count(series)} and not ${value}`)
  }
  const count = (series: string) => record.series(api.holder.identity, series)

  const scene: FixedScene<Name> = {
    events: record.events,
    nodeWrites: record.nodeWrites,
    latched: record.latched,
    world,
    vCenter,
    members,
    cast: Object.fromEntries(members.map((each) => [each.nodeName, each])) as Record<Name, Machine>,
    at: (ms) => passing.until(() => timeline.now >= ms),
    pass: passing.pass,
    until,
    said,
    settled: (...nodeNames) =>
      until('all are initialized', () =>
        nodeNames.every(
          (name) =>
            isInitialized(name) &&
            status(name)?.conditions.some((each) => each.type === 'Initialized' && each.status === 'True') ===
              true,
        ),
      ),
    async ends(...gone) {
      for (const machine of gone)
        await until(
          `Node ${machine.nodeName} is deleted`,
          () => !hasNode(machine),
          () => JSON.stringify(api.reports.get(machine.nodeName)?.status),
        )
    },
    told: (nodeName, reason) =>
      until(`${reason} is told of ${nodeName}`, () => record.events(nodeName, reason).length > 0),
    missing: (nodeName) =>
      until(`the VM of ${nodeName} is missing`, () => status(nodeName)?.absentSince !== undefined),
    async heldByBrake(...nodeNames) {
      for (const name of nodeNames) await said(name, HELD_BY_BRAKE)
    },
    probed(times, ...nodeNames) {
      const before = new Map(judge.probes)
      return until('they are asked for', () =>
        nodeNames.every((name) => (judge.probes.get(name) ?? 0) - (before.get(name) ?? 0) >= times),
      )
    },
    counted,
    joins,
    silence(...silent) {
      for (const machine of silent) machine.linked = false
    },
    hide(...hidden) {
      for (const { vm } of hidden) vm?.vCenter.unregister(vm)
    },
    vanish(...gone) {
      scene.silence(...gone)
      scene.hide(...gone)
    },
    show(...back) {
      for (const machine of back) machines.register(machine, vCenter)
    },
    destroy(...gone) {
      for (const machine of gone) machines.destroy(machine)
    },
    async nextLeader() {
      const leader = world.leader()
      if (leader === undefined) throw new Error('nobody leads')
      world.restart(leader, RESTARTS)
      await until('another leads', () => !['', leader.name].includes(api.holder.identity))
    },
    node: (name) => api.nodes.get(name),
    status,
    condition,
    isInitialized,
    ready(name) {
      const node = api.nodes.get(name)
      return node && readyOf(node)
    },
    kept: () => members.filter(hasNode).length,
    deletedAt: ({ nodeUID }) => judge.deletions.find((each) => each.nodeUID === nodeUID)?.at,
    count,
  }
  return scene
}
