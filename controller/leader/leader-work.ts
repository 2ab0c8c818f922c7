import type { Clock } from '../../agent/shared/clock.ts'
import { API_GROUP, API_VERSION, PLURAL } from '../../agent/shared/node-report.ts'
import { type Config, settingsOf } from '../config/config.ts'
import { createInterlock } from '../cpi/interlock/interlock.ts'
import { ownControllers } from '../cpi/interlock/judge-interlock.ts'
import { DEFAULT_TIMEOUT, type KubeClient } from '../kubernetes/client.ts'
import type { EventRecorder } from '../kubernetes/event-recorder.ts'
import { createInformer } from '../kubernetes/informer.ts'
import { heartbeatOf } from '../kubernetes/kubelet-lease.ts'
import type { Term } from '../kubernetes/leader-election.ts'
import type { LeaseName } from '../kubernetes/lease.ts'
import { createNodeWriter } from '../kubernetes/node-writer.ts'
import { parseNode, parseNodeReport } from '../kubernetes/parse-node.ts'
import { createPolicyCheck } from '../kubernetes/policy-check.ts'
import { createCSINodes, createVolumeAttachments } from '../kubernetes/storage.ts'
import type { Logger } from '../lib/log.ts'
import { aborted, runTogether, type Task } from '../lib/tasks.ts'
import { createSlowLane, SLOW_AFTER } from '../loops/node/apply/slow-lane.ts'
import { labelsRead } from '../loops/node/facts/labels-read.ts'
import { NEVER_SEEN } from '../loops/node/facts/machines.ts'
import { createNodeIndex } from '../loops/node/gather/node-index.ts'
import { createReconciler } from '../loops/node/reconcile.ts'
import { createInhabitantsOf } from '../loops/node/vm-probes/inhabitants.ts'
import type { ProbeTracker } from '../loops/node/vm-probes/probe-tracker.ts'
import { createProbeWorker } from '../loops/node/vm-probes/probe-worker.ts'
import { createEventHandlers, createInventoryHandler } from '../loops/node/watch/event-handlers.ts'
import { createWorkQueue, DEFAULT_RATE, type WorkQueue } from '../loops/node/watch/work-queue.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'
import { absenceProvable, interlockProblem, policyProblem, unprovable, vCenterProblem } from './readiness.ts'
import { createTwinIdentities } from './twin-identities.ts'
import { createUnmatchedDatacenters } from './unmatched-datacenters.ts'

export interface LeaderWorkOptions {
  readonly config: Config
  readonly client: KubeClient
  /** By which this replica leads. */
  readonly lease: LeaseName
  /** Lives as long as the term: it keeps evidence and deletions when the configuration changes. */
  readonly tracker: ProbeTracker
  /** Must confirm the Lease before anything that cannot be undone. */
  readonly term: Term
  readonly events: Pick<EventRecorder, 'event'>
  readonly openInventory: (
    config: Config['vCenters'][number],
    onChange: (uuids: Iterable<string>) => void,
  ) => RunningInventory
  /** Called when both lists are complete and every VM needed is followed. */
  readonly onSynced: () => void
  /** Cuts off writes under way. The work's own signal only prevents new ones. */
  readonly writing: AbortSignal
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: Pick<
    Metrics,
    | 'decided'
    | 'reconciled'
    | 'queueDepth'
    | 'queueActive'
    | 'slowNodes'
    | 'workQueue'
    | 'vCentersUp'
    | 'policyInForce'
    | 'cpiRuns'
    | 'controllersRun'
    | 'lifecycle'
    | 'nodeDeleted'
  >
}

/** Nodes handled at once: enough to keep an API server busy, few enough not to crowd out others. */
const CONCURRENCY = 16
/** Of them whose writes are slow: such a write may cost the API server a core for as long as it takes. */
const SLOW_CONCURRENCY = 2
/** Nodes probed at once: each probe costs a vCenter some six small calls. */
const PROBES = 4
/** Least time between two probes of a Node after a burst, milliseconds; less where Nodes may be deleted sooner. */
const PROBE_INTERVAL = 5_000

/** What a leader runs under one configuration: watches, queues, the reconciler and the inventories. */
export interface LeaderWork {
  /** What is not ready yet, one line each, for people. */
  problems(): readonly string[]
  /** What else people should know, one line each. It stops no work. */
  remarks(): readonly string[]
  run(signal: AbortSignal): Promise<void>
}

/**
 * Wires the four steps together: the watches enqueue Nodes, and the queue hands them to the reconciler. Nothing is decided
 * before both lists are complete, since a Node would otherwise seem to have no report. When the signal aborts, reconciles
 * under way are finished, and the statuses that were put off are written. When `writing` aborts, all other requests under
 * way are dropped: the next leader starts from the Nodes as they are.
 */
export function createLeaderWork(options: LeaderWorkOptions): LeaderWork {
  const { config, client, tracker, writing, clock, random, logger, metrics } = options
  const settings = settingsOf(config)
  const index = createNodeIndex(settings.identity)
  const read = labelsRead(settings)
  const queue: WorkQueue = createWorkQueue({
    onError: (name, error) => logger.warn({ node: name, err: error }, 'reconcile failed'),
    concurrency: CONCURRENCY,
    slowLane: { concurrency: SLOW_CONCURRENCY, has: (name) => slowLane.has(name) },
    observer: {
      ...metrics.workQueue,
      ended(worked, outcome) {
        metrics.workQueue.ended(worked)
        if (outcome !== undefined) metrics.reconciled(worked / 1000, outcome)
      },
    },
    clock,
    random,
  })
  const probeQueue = createWorkQueue({
    onError: (name, error) => logger.warn({ node: name, err: error }, 'probe failed'),
    concurrency: PROBES,
    // A node that reports another machine every second must not cost vCenter a search every second.
    rate: { ...DEFAULT_RATE, interval: Math.min(PROBE_INTERVAL, settings.lifecycle.absentFor / 60) },
    clock,
    random,
  })

  const onInventory = createInventoryHandler({ index, queue })
  const inventories = config.vCenters.map((vCenter) => options.openInventory(vCenter, onInventory))
  const { onNode, onReport, onStatus } = createEventHandlers({ index, queue, inventories })
  const synced = { nodes: Promise.withResolvers<void>(), reports: Promise.withResolvers<void>() }
  const nodes = createInformer({
    client,
    path: '/api/v1/nodes',
    parse: (object) => parseNode(object, read),
    onChange: onNode,
    onSynced: synced.nodes.resolve,
    clock,
    random,
    logger,
  })
  const reports = createInformer({
    client,
    path: `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}`,
    parse: parseNodeReport,
    onChange: onReport,
    onSynced: synced.reports.resolve,
    clock,
    random,
    logger,
  })
  const writer = createNodeWriter(client, DEFAULT_TIMEOUT, writing)
  const slowLane = createSlowLane({
    nodes,
    reports,
    brief: createNodeWriter(client, SLOW_AFTER, writing),
    patient: writer,
    clock,
  })
  const csiNodes = createCSINodes({ client, onChange: queue.add, clock, random, logger })
  const policy = createPolicyCheck({
    client,
    clock,
    random,
    logger,
    sample() {
      for (const { name } of reports.values()) return name
      return undefined
    },
    onChange() {
      for (const { name } of nodes.values()) queue.add(name)
    },
  })

  const own = ownControllers(config)
  const interlock = createInterlock({
    client,
    own: { lease: options.lease, controllers: own },
    clock,
    random,
    logger,
    onChange() {
      metrics.controllersRun(isHeld() ? { node: false, lifecycle: false } : own)
      for (const { name } of nodes.values()) queue.add(name)
    },
  })
  const isHeld = () => interlock.state().state === 'held'

  const { reconcile, run: writeStatuses } = createReconciler({
    sources: {
      node: nodes.get,
      report: reports.get,
      index,
      inventories,
      policy: policy.state,
      interlock: interlock.state,
      csiTopologyKeys: csiNodes.topologyKeysOf,
      settings,
      tracker,
      leadingFor: options.term.leadingFor,
    },
    tracker,
    enqueueProbe: probeQueue.add,
    writer: {
      ...writer,
      confirm: async () => !isHeld() && (await options.term.confirm(writing)),
      recordEvent: ({ name, uid }, event) =>
        options.events.event({ regarding: { apiVersion: 'v1', kind: 'Node', name, uid }, ...event }),
    },
    // A status that is not written in time goes the way of the slow lane: others are behind it.
    statusWriter: (signal) => createNodeWriter(client, SLOW_AFTER, signal),
    clock,
    enqueue: queue.add,
    onDecision: metrics.decided,
    onDeleted({ name, uid }, { vCenter, event }) {
      // The Event is gone after an hour, and the report together with the Node.
      logger.warn({ node: name, uid, vCenter, why: event.message }, 'Node deleted, its VM is gone')
      metrics.nodeDeleted(vCenter)
    },
    slowLane,
    onRejected: (name, { reason, message }) =>
      logger.warn(
        { node: name, error: message },
        reason === 'NodeWritesSlow' ? 'write not answered' : 'write refused',
      ),
    onStatus,
    onStatusError: (name, error) => logger.warn({ node: name, err: error }, 'writing a status failed'),
  })
  const probe = createProbeWorker({
    tracker,
    inventories,
    heartbeatOf: (name, signal) => heartbeatOf(client, name, signal),
    volumesAttachedTo: createVolumeAttachments(client, clock),
    inhabitantsOf: createInhabitantsOf({
      index,
      tracker,
      inventories,
      node: nodes.get,
      report: reports.get,
      absentFor: settings.lifecycle.absentFor,
    }),
    onResult: queue.add,
    clock,
    logger,
  })

  const unmatched = createUnmatchedDatacenters({
    vCenters: config.vCenters,
    inventories,
    clock,
    random,
    logger,
  })

  const twins = createTwinIdentities({ servers: settings.servers, inventories, clock, random, logger })

  metrics.queueDepth(queue.depth)
  metrics.slowNodes(slowLane.count)
  metrics.queueActive(queue.activeSince)
  metrics.lifecycle(() =>
    [...inventories.map(({ vCenter }) => vCenter), NEVER_SEEN].map((vCenter) => ({
      vCenter,
      ...tracker.missing(vCenter, index.latched()),
    })),
  )
  metrics.policyInForce(() => policy.state().state === 'in-force')
  metrics.cpiRuns(isHeld)
  metrics.vCentersUp(() =>
    inventories.map((inventory) => ({
      name: inventory.vCenter,
      up: inventory.connected(),
      absenceProvable: absenceProvable(inventory),
      certificateExpiry: inventory.certificateExpiry(),
    })),
  )

  const work: Task = async (signal) => {
    await Promise.race([
      Promise.all([synced.nodes.promise, synced.reports.promise, csiNodes.known, interlock.known]),
      aborted(signal),
    ])
    if (!signal.aborted) {
      tracker.resume((name) => nodes.get(name) !== undefined)
      options.onSynced()
    }
    await Promise.all([queue.run(reconcile, signal), probeQueue.run(probe, signal), writeStatuses(signal)])
  }

  return {
    problems: () => [
      ...(nodes.synced ? [] : ['Nodes are not listed yet']),
      ...(reports.synced ? [] : ['NodeReports are not listed yet']),
      ...policyProblem(policy.state()),
      ...interlockProblem(interlock.state()),
      ...inventories.flatMap(vCenterProblem),
    ],
    remarks: () => [
      ...unmatched.remarks(),
      ...twins.remarks(),
      ...interlock.remarks(),
      ...csiNodes.remarks(),
      ...(settings.lifecycle.deletion === 'off' ? [] : inventories.flatMap(unprovable)),
    ],
    run: (signal) =>
      runTogether(
        [
          nodes.run,
          reports.run,
          csiNodes.run,
          policy.run,
          interlock.run,
          unmatched.run,
          twins.run,
          work,
          ...inventories.map((inventory) => inventory.run),
        ],
        signal,
      ),
  }
}
