import { REPORTS_PATH } from '../../../agent/shared/node-report.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { type Config, settingsOf } from '../../config/config.ts'
import { unread } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import {
  createLoginAttempts,
  createSharedAnnotations,
  shareLease,
} from '../../kubernetes/lease-login-attempts.ts'
import { readAll } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import { readCSINodes } from '../../kubernetes/storage.ts'
import { createEngine } from '../../leader/engine.ts'
import { aborted, type Basics, runTogether, waitUntil } from '../../lib/tasks.ts'
import { createApprovalRates, parseRequest, REQUESTS } from '../../loops/certificates/loop.ts'
import type { Decision } from '../../loops/node/decide/decision.ts'
import { createProbeTracker } from '../../loops/node/vm-probes/probe-tracker.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { InterlockState } from '../../types/cluster-state.ts'
import { isKnown, type Lookup } from '../../types/inventory.ts'
import { openInventory } from '../../vcenter/inventory.ts'
import type { RunningInventory } from '../../vcenter/running-inventory.ts'
import { createLoginLimiter } from '../../vcenter/session/login-limiter.ts'
import { TIMINGS, type Timings } from '../../vcenter/timings.ts'
import { copyCluster } from './copied-cluster.ts'
import { type FreshLook, planOf } from './node-plan.ts'

export interface RunOnCopyOptions extends Basics {
  /** With the users and passwords filled in. */
  readonly config: Config
  readonly client: KubeClient
  /** That the replicas compete for: logins are counted in it. */
  readonly lease: LeaseName
  readonly interlock: InterlockState
  /** The Node whose VM is probed once where it is missing; none by default. */
  readonly probed?: string
  readonly version: string
  readonly metrics: Metrics
  readonly timings?: Timings
  /** Called where logins are not counted together with the leader's, and where CSINodes cannot be read. */
  readonly warn: (message: string) => void
}

/** Milliseconds that the vCenters have to answer for every Node, logins aside. */
export const DEADLINE = 120_000
/** Milliseconds before the first look whether they have. */
const BEGINNING = 100
const NODES = '/api/v1/nodes'

/**
 * Runs the leader's engine on a copy of the cluster in memory until nothing is left to do. Nothing is written but the attempts
 * to log in, which are counted in the Lease as the leader's are: each vCenter is logged in to once, and once more for tags. The
 * Lease is not taken, and what only time can prove is not waited for.
 *
 * @throws where the API server does not answer, or the signal aborts
 */
export async function runOnCopy(
  options: RunOnCopyOptions,
  signal: AbortSignal,
): Promise<{
  /** What a leader would make of each Node. */
  readonly nodes: ReadonlyMap<string, FreshLook>
  /** Why a vCenter has not answered for all Nodes, a line each. */
  readonly remarks: readonly string[]
}> {
  const { config, lease, probed, clock, random, logger, metrics, timings = TIMINGS } = options
  const client = copyCluster(options.client)
  const readNodes = () => readAll(client, { path: NODES }, parseNode, signal)
  const readReports = () => readAll(client, { path: REPORTS_PATH }, parseNodeReport, signal)
  const before = await readNodes()
  const reportsBefore = await readReports()
  async function warnIfUnread(what: string, read: () => Promise<unknown>, without: string): Promise<void> {
    const tried = await attempt(read)
    signal.throwIfAborted()
    if (!tried.ok) options.warn(`${unread(what, tried.error)}; ${without}`)
  }
  // A leader that lacks the right goes on without, too.
  await warnIfUnread(
    'CSINodes',
    () => readCSINodes(client, signal),
    'zone and region count as set by the CSI driver where it is registered',
  )
  if (config.certificates.approve)
    await warnIfUnread(
      'certificate requests',
      () => readAll(client, { path: REQUESTS }, parseRequest, signal),
      'which of them would be approved is not known',
    )

  const annotations = createSharedAnnotations(shareLease(options.client, lease, clock))
  const attempts = createLoginAttempts(annotations)
  const logins = createLoginLimiter({ attempts, timings, clock, random, logger, once: true })
  const inventories: RunningInventory[] = []
  const decisions = new Map<string, Decision | undefined>()
  const tracker = createProbeTracker(clock.monotonic)
  /** Whether its VM may be probed now. */
  let mayProbe = (_: string): boolean => false
  const engine = createEngine({
    config,
    client,
    openInventory(vCenter, onChange) {
      const inventory = openInventory({
        config: vCenter,
        categories: config.labels,
        sources: config.labelRules.map(({ from }) => from),
        userAgent: `rollcall-controller/${options.version}`,
        clock,
        random,
        logger,
        logins,
        metrics: metrics.vCenter(vCenter.name),
        onChange,
        timings,
      })
      inventories.push(inventory)
      return inventory
    },
    policy: () => ({ state: () => ({ state: 'in-force' }), run: aborted }),
    interlock: () => ({
      state: () => options.interlock,
      remarks: () => [],
      known: Promise.resolve(),
      run: aborted,
    }),
    tracker: { ...tracker, request: (name) => (mayProbe(name) ? tracker.request(name) : undefined) },
    approvals: createApprovalRates(),
    term: { confirm: async () => true, leadingFor: () => Number.POSITIVE_INFINITY },
    events: { event: () => undefined },
    onSynced: () => undefined,
    writing: signal,
    clock,
    random,
    logger,
    metrics: { ...metrics, decided: (name, decision) => void decisions.set(name, decision) },
  })

  /** The Nodes for which some answer of a vCenter is as asked. */
  const namesWith = (inventory: RunningInventory, isSo: (lookup: Lookup) => boolean) =>
    [...before.keys()].filter((name) => engine.uuidsOf(name).some((uuid) => isSo(inventory.lookup(uuid))))

  /** Whether a vCenter has answered for all Nodes, or has said why it cannot. */
  function hasAnswered(inventory: RunningInventory): boolean {
    const failure = inventory.failure()
    if (failure !== undefined) return failure.waiting !== true
    return inventory.connected() && namesWith(inventory, (lookup) => !isKnown(lookup)).length === 0
  }

  async function settle(signal: AbortSignal): Promise<void> {
    // What was just asked for has to begin.
    await clock.sleep(BEGINNING, signal)
    const done = () => engine.isIdle() && inventories.every(hasAnswered)
    const held = () => inventories.some((each) => each.failure()?.waiting === true)
    await waitUntil(done, { within: DEADLINE, held, clock }, signal)
  }

  async function probeOnce(name: string, signal: AbortSignal): Promise<void> {
    mayProbe = (asked) => {
      if (asked !== name) return false
      mayProbe = () => false
      return true
    }
    engine.add(name)
    await settle(signal)
  }

  await runTogether(
    [
      engine.run,
      async (signal) => {
        await settle(signal)
        if (probed !== undefined && before.has(probed)) await probeOnce(probed, signal)
      },
    ],
    signal,
  )
  signal.throwIfAborted()
  const alone = annotations.alone()
  if (alone !== undefined)
    options.warn(
      `a login attempt was not counted together with the leader's, because ${alone}: each wrong password counts toward locking the account`,
    )
  const [after, reports, settings] = [await readNodes(), await readReports(), settingsOf(config)]
  const looks = [...before.values()].map((node): [string, FreshLook] => {
    const decision = decisions.get(node.name)
    const report = reports.get(node.name)
    const plan = planOf({
      before: node,
      after: after.get(node.name) ?? node,
      report,
      reportBefore: reportsBefore.get(node.name),
      decision,
      settings,
    })
    return [node.name, { decision, plan }]
  })
  return {
    nodes: new Map(looks),
    remarks: inventories.flatMap((each) =>
      silenceOf(
        each,
        namesWith(each, (lookup) => lookup.state === 'unknown' || !isKnown(lookup)),
      ),
    ),
  }
}

/** Most Nodes that are named in one line. */
const MAX_NAMES = 5

/** Why a vCenter has not answered for all Nodes; nothing where it has. */
function silenceOf(inventory: RunningInventory, left: readonly string[]): readonly string[] {
  const failure = inventory.failure()
  if (failure !== undefined) return [`vCenter ${inventory.vCenter}: ${failure.reason}: ${failure.message}`]
  if (!inventory.connected()) return [`vCenter ${inventory.vCenter} did not answer in time`]
  if (left.length === 0) return []
  const some = left.slice(0, MAX_NAMES).join(', ')
  return [`vCenter ${inventory.vCenter} did not answer in time for ${left.length} Nodes, such as ${some}`]
}
