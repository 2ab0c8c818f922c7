import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../../agent/shared/clock.ts'
import type { Condition } from '../../agent/shared/node-report.ts'
import type { SlowNodes } from '../loops/node/apply/slow-lane.ts'
import type { Decision } from '../loops/node/decide/decision.ts'
import type { NodeLoopMetrics, VCenterLifecycle } from '../loops/node/loop.ts'
import { createLabelGuard } from './label-guard.ts'
import { addVCenterGauge } from './vcenter-metrics.ts'

export interface NodeMetrics
  extends Pick<NodeLoopMetrics, 'decided' | 'nodeDeleted' | 'lifecycle' | 'slowNodes'> {
  /** Forgets every Node when another replica takes over. */
  forgetNodes(): void
}

const STATES = [
  'unmanaged',
  'waiting',
  'refused',
  'initializing',
  'initialized',
] as const satisfies readonly Decision['state'][]
const LEVELS = ['asserted', 'reported', 'proven'] as const

/** What is counted of a decision. The rest is not kept: a status is half a kilobyte of texts. */
interface Known extends Pick<Decision, 'state' | 'level' | 'refusal' | 'copies'> {
  /** Conditions that are not as they should be. */
  readonly conditions: readonly Pick<Condition, 'type' | 'status' | 'reason'>[]
  readonly uid: string | undefined
  /** Seen with the taint, and not yet counted as initialized. */
  readonly initializing: boolean
}

const NO_SLOW_NODES = (): SlowNodes => ({ slow: 0, huge: 0 })

/** @param onInitialized called with the seconds from a Node's creation until it was initialized */
export function addNodeMetrics(
  registry: Registry,
  clock: Clock,
  onInitialized: (seconds: number) => void,
): NodeMetrics {
  const registers = [registry]
  const known = new Map<string, Known>()
  addGauges(registry, known)
  addCopiesGauge(registry, known)
  let readSlowNodes = NO_SLOW_NODES
  new Gauge({
    name: 'rollcall_nodes_in_slow_lane',
    help: 'Nodes that are written two at a time, because their writes are slow or they are huge; only on the leader',
    labelNames: ['why'],
    registers,
    collect() {
      const { slow, huge } = readSlowNodes()
      this.set({ why: 'slow' }, slow)
      this.set({ why: 'huge' }, huge)
    },
  })
  let readLifecycle: () => Iterable<VCenterLifecycle> = () => []
  addLifecycleGauges(registry, () => readLifecycle())
  const refusals = new Counter({
    name: 'rollcall_node_refusals_total',
    help: 'Times that a Node was refused for a new reason',
    labelNames: ['condition', 'reason'],
    registers,
  })
  const initialization = new Histogram({
    name: 'rollcall_node_initialization_seconds',
    help: 'Time from the creation of a Node until it was initialized',
    buckets: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600],
    registers,
  })
  const deleted = new Counter({
    name: 'rollcall_nodes_deleted_total',
    help: 'Nodes that were deleted because their VM was proven to be gone',
    labelNames: ['vcenter'],
    registers,
    collect() {
      // A series that began with 1 would show no increase.
      for (const { vCenter } of readLifecycle()) this.inc({ vcenter: vCenter }, 0)
    },
  })

  return {
    decided(name, decision, node) {
      if (decision === undefined) {
        known.delete(name)
        return
      }
      const last = known.get(name)
      const before = last?.uid === node?.uid ? last : undefined
      const { refusal } = decision
      const held = before?.refusal
      if (
        refusal !== undefined &&
        (refusal.condition !== held?.condition || refusal.reason !== held.reason)
      ) {
        refusals.inc({ condition: refusal.condition, reason: refusal.reason })
      }
      const began = before?.initializing === true || decision.state === 'initializing'
      const done = began && decision.state === 'initialized'
      if (done && node !== undefined) {
        const seconds = Math.max(0, (clock.now() - Date.parse(node.creationTimestamp)) / 1000)
        initialization.observe(seconds)
        onInitialized(seconds)
      }
      const { state, level, copies } = decision
      const conditions = (decision.status?.conditions ?? [])
        .filter(isTroubled)
        .map(({ type, status, reason }) => ({ type, status, reason }))
      known.set(name, {
        state,
        ...(level === undefined ? {} : { level }),
        ...(refusal === undefined ? {} : { refusal }),
        ...(copies === undefined ? {} : { copies }),
        conditions,
        uid: node?.uid,
        initializing: began && !done,
      })
    },
    nodeDeleted: (vcenter) => deleted.inc({ vcenter }),
    lifecycle(read) {
      readLifecycle = read
    },
    slowNodes(read) {
      readSlowNodes = read
    },
    forgetNodes() {
      known.clear()
      readSlowNodes = NO_SLOW_NODES
      readLifecycle = () => []
    },
  }
}

/** Of all conditions only DeletionPending is bad when True; it has a metric of its own. */
function isTroubled({ type, status }: Condition): boolean {
  return status !== (type === 'DeletionPending' ? 'False' : 'True')
}

/** Counted at each scrape: going through a thousand Nodes is simpler than keeping count through every change. */
function addGauges(registry: Registry, known: ReadonlyMap<string, Known>): void {
  const registers = [registry]
  new Gauge({
    name: 'rollcall_nodes',
    help: "Nodes by state; unmanaged ones are not Rollcall's; only on the leader",
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of STATES) this.set({ state }, 0)
      for (const { state } of known.values()) this.inc({ state })
    },
  })
  new Gauge({
    name: 'rollcall_nodes_held_up',
    help: 'Nodes that wait or are refused, by the condition and the reason that stand in the way',
    labelNames: ['condition', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { refusal } of known.values()) {
        if (refusal !== undefined) this.inc({ condition: refusal.condition, reason: refusal.reason })
      }
    },
  })
  const guardCondition = createReasonGuard()
  new Gauge({
    name: 'rollcall_node_conditions',
    help: 'Conditions of Nodes that are not True, by status and reason',
    labelNames: ['condition', 'status', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { conditions } of known.values()) {
        for (const { type, status, reason } of conditions) {
          if (type === 'DeletionPending') continue
          this.inc({ condition: type, status, reason: guardCondition(reason) })
        }
      }
    },
  })
  const guardDeletion = createReasonGuard()
  new Gauge({
    name: 'rollcall_node_deletions_pending',
    help: 'Nodes whose VM is gone (True) or may be (Unknown), by the first reason why they are kept',
    labelNames: ['status', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { conditions } of known.values()) {
        const pending = conditions.find(({ type }) => type === 'DeletionPending')
        if (pending !== undefined) this.inc({ status: pending.status, reason: guardDeletion(pending.reason) })
      }
    },
  })
  new Gauge({
    name: 'rollcall_nodes_verified',
    help: 'Nodes by the level of their verified identity',
    labelNames: ['level'],
    registers,
    collect() {
      for (const level of LEVELS) this.set({ level }, 0)
      for (const { level } of known.values()) if (level !== undefined) this.inc({ level })
    },
  })
}

/** Most series of copies: each is two names, and whoever makes copies chooses their number. */
const MAX_COPIES = 100

function addCopiesGauge(registry: Registry, known: ReadonlyMap<string, Known>): void {
  new Gauge({
    name: 'rollcall_vm_copies',
    help: `VMs that may run and have the BIOS UUID of a Node's own VM, by both (VCENTER/MOREF); at most ${MAX_COPIES} are named`,
    labelNames: ['vm', 'copy'],
    registers: [registry],
    collect() {
      this.reset()
      const pairs = [...known.values()].flatMap(({ copies }) =>
        (copies?.copies ?? []).map((copy) => ({ vm: copies?.vm ?? '', copy })),
      )
      for (const pair of pairs.slice(0, MAX_COPIES)) this.set(pair, 1)
    },
  })
}

function addLifecycleGauges(registry: Registry, read: () => Iterable<VCenterLifecycle>): void {
  addVCenterGauge(
    registry,
    'rollcall_vms_missing',
    'Verified Nodes whose VM is missing from vCenter; only on the leader',
    () => Array.from(read(), ({ vCenter, missing }) => [vCenter, missing] as const),
  )
  addVCenterGauge(
    registry,
    'rollcall_deletion_brake_engaged',
    '1 while the deletion brake is engaged because too many VMs vanished at once, else 0; only on the leader',
    () => Array.from(read(), ({ vCenter, brakeEngaged }) => [vCenter, brakeEngaged] as const),
  )
}

/** What the controller's own reasons look like. */
const REASON = /^[A-Z][A-Za-z]{0,63}$/

/** Guards the reasons of conditions: one that this controller has not set yet may hold anything. */
function createReasonGuard(): (reason: string) => string {
  const guard = createLabelGuard()
  return (reason) => (REASON.test(reason) ? guard(reason) : 'other')
}

/** Versions that are counted by themselves, and what they look like: a node may report any text. */
const MAX_VERSIONS = 10
const VERSION = /^\d+\.\d+\.\d+[0-9A-Za-z.+-]{0,24}$/

/** Which versions of the agent report: what an operator who rolls one out wants to see. */
export function addAgentMetrics(registry: Registry) {
  let readVersions: () => Iterable<string> = () => []
  new Gauge({
    name: 'rollcall_agents',
    help: 'Reports of agents by the version of the agent; only on the leader',
    labelNames: ['version'],
    registers: [registry],
    collect() {
      this.reset()
      const counts = new Map<string, number>()
      for (const version of readVersions()) counts.set(version, (counts.get(version) ?? 0) + 1)
      const ofMost = [...counts].toSorted(([, a], [, b]) => b - a)
      for (const [index, [version, count]] of ofMost.entries())
        this.inc({ version: index < MAX_VERSIONS && VERSION.test(version) ? version : 'other' }, count)
    },
  })
  return {
    /** The version of each agent that reports, read at each scrape of the leader. */
    agentVersions(read: () => Iterable<string>): void {
      readVersions = read
    },
  }
}
