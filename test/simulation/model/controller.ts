/** A replica of the controller: the real election and the real work of a leader, on the model's edges. */
import type { DecisionConfig } from '../../../controller/config/config.ts'
import { createNodeIndex } from '../../../controller/gather/node-index.ts'
import { createFencedClient } from '../../../controller/kubernetes/fenced-client.ts'
import { heartbeatOf } from '../../../controller/kubernetes/kubelet-lease.ts'
import { createLeaderElection, type Term } from '../../../controller/kubernetes/leader-election.ts'
import { createLeaseStore } from '../../../controller/kubernetes/lease.ts'
import { createLoginAttempts } from '../../../controller/kubernetes/login-attempts.ts'
import { createNodeWriter } from '../../../controller/kubernetes/node-writer.ts'
import { parseNode } from '../../../controller/kubernetes/parse-node.ts'
import { parseNodeReport } from '../../../controller/kubernetes/parse-node-report.ts'
import { createVolumeAttachments } from '../../../controller/kubernetes/volume-attachments.ts'
import type { Logger } from '../../../controller/log.ts'
import { createInhabited } from '../../../controller/probes/inhabited.ts'
import { createProbeTracker, type ProbeTracker } from '../../../controller/probes/probe-tracker.ts'
import { createProbeWorker } from '../../../controller/probes/probe-worker.ts'
import { createReconciler } from '../../../controller/reconcile.ts'
import { aborted } from '../../../controller/tasks.ts'
import type { Node, NodeReport } from '../../../controller/types/node.ts'
import type { VCenterProbe } from '../../../controller/types/vcenter-probe.ts'
import { createLogins, type Logins } from '../../../controller/vcenter/session/logins.ts'
import { TIMINGS } from '../../../controller/vcenter/timings.ts'
import { createEventHandlers } from '../../../controller/watch/event-handlers.ts'
import { createWorkQueue } from '../../../controller/watch/work-queue.ts'
import type { Timeline } from '../timeline.ts'
import type { ApiServer } from './api-server.ts'
import { createInformer } from './informer.ts'
import { createModelInventory } from './inventory.ts'
import type { LoginWatch } from './link.ts'
import { createModelClient } from './network.ts'
import type { Process } from './process.ts'
import type { VCenterModel } from './vcenter.ts'

/** Told what a controller does, before anybody else hears of it. */
export interface ControllerWatch extends LoginWatch {
  /** A VM is probed in all vCenters. */
  asked(process: Process, nodeName: string): void
  /** All have answered, or failed to: this... */
  heard(process: Process, nodeName: string, probes: readonly VCenterProbe[]): void
  /** ... which is known to the controller from now on. */
  answered(process: Process, nodeName: string): void
  /** The report of a Node has arrived as it was written then. */
  arrived(process: Process, nodeName: string, writtenAt: number): void
  /** A deletion was decided on. */
  decided(process: Process, nodeName: string): void
  /** Whatever went wrong that is no failure of the world. */
  defect(process: Process, error: unknown): void
}

export interface ControllerOptions {
  readonly api: ApiServer
  readonly vCenters: readonly VCenterModel[]
  readonly process: Process
  readonly timeline: Timeline
  readonly settings: DecisionConfig
  readonly watch: ControllerWatch
  readonly logger: Logger
}

/** As in `commands/lead.ts`. */
const CONCURRENCY = 16
const PROBES = 4
const BACKOFF = { base: 1_000, max: 300_000 }

/** Runs until the signal aborts, or the process is killed. */
export async function runController(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const { process, api, timeline, logger } = options
  const client = createModelClient(api, process, timeline)
  const lease = createLeaseStore(client, 'kube-system', 'rollcall')
  const election = createLeaderElection({
    lease,
    identity: process.name,
    clock: process,
    random: process.random.next,
    logger,
  })
  const logins = createLogins({
    attempts: createLoginAttempts(election),
    timings: TIMINGS,
    clock: process,
    random: process.random.next,
    logger,
  })
  let terms = 0
  try {
    await election.run(async (signal, term) => {
      const tracker = createProbeTracker({ monotonic: () => process.monotonic() })
      const fenced = createFencedClient(client, term)
      for (;;) {
        terms++
        const superseded = new AbortController()
        process.reconfigure = () => superseded.abort()
        await lead(
          { ...options, client: fenced, term, tracker, writing: signal, logins, number: terms },
          AbortSignal.any([signal, superseded.signal]),
        )
        if (signal.aborted || !superseded.signal.aborted) return
      }
    }, signal)
  } catch (error) {
    options.watch.defect(process, error)
  }
}

interface LeadOptions extends ControllerOptions {
  readonly client: ReturnType<typeof createModelClient>
  readonly term: Term
  /** As in `commands/lead-term.ts`: they outlive a change of the configuration. */
  readonly tracker: ProbeTracker
  readonly writing: AbortSignal
  readonly logins: Logins
  readonly number: number
}

async function lead(options: LeadOptions, signal: AbortSignal): Promise<void> {
  const { api, process, timeline, settings, watch, logger, client, term, tracker, writing } = options
  const random = process.random.next
  const index = createNodeIndex(settings.identity)
  const inventories = options.vCenters.map((vCenter) =>
    createModelInventory({
      vCenter,
      process,
      timeline,
      logins: options.logins,
      watch,
      owner: `${process.name}/${options.number}/${vCenter.name}`,
      logger,
      onChange: (uuids) => cluster.onInventory(uuids),
    }),
  )
  const onError = (_: string, error: unknown) => {
    if (!signal.aborted && error instanceof TypeError) watch.defect(process, error)
  }
  const common = { onError, backoff: BACKOFF, clock: process, random }
  const queue = createWorkQueue({
    ...common,
    concurrency: CONCURRENCY,
    process: (name) => reconcile(name),
  })
  const probe = createProbeWorker(
    {
      tracker: {
        request: tracker.request,
        record(name, request, result) {
          watch.heard(process, name, [...result.probes, ...result.others.flatMap(({ probes }) => probes)])
          tracker.record(name, request, result)
        },
      },
      inventories,
      heartbeatOf: (name, signal) => heartbeatOf(client, name, signal),
      volumesAttachedTo: createVolumeAttachments(client, process, signal),
      isInhabited: createInhabited({
        index,
        tracker,
        inventories,
        isReady: (name) => nodes.get(name)?.ready?.status === 'True',
        absentFor: settings.lifecycle.absentFor,
      }),
      onResult(name) {
        watch.answered(process, name)
        queue.add(name)
      },
      clock: process,
      logger,
    },
    signal,
  )
  const probeQueue = createWorkQueue({
    ...common,
    concurrency: PROBES,
    process(name) {
      watch.asked(process, name)
      return probe(name)
    },
  })
  const cluster = createEventHandlers({ index, queue, inventories })
  const nodes = createInformer<Node>({
    api,
    kind: 'nodes',
    process,
    timeline,
    parse: parseNode,
    onArrival: () => undefined,
    onChange: cluster.onNode,
  })
  const reports = createInformer<NodeReport>({
    api,
    kind: 'reports',
    process,
    timeline,
    parse: parseNodeReport,
    onArrival: (name, at) => watch.arrived(process, name, at),
    onChange: (name, current) => cluster.onReport(name, current),
  })
  let deleting = false
  const reconcile = createReconciler({
    sources: {
      node: nodes.get,
      report: reports.get,
      index,
      inventories,
      policy: () => ({ state: 'in-force' }),
      settings,
      tracker,
      leadingFor: term.leadingFor,
    },
    tracker: {
      // The reconciler says these two one after the other, without a pause.
      deleting(deletion, nodeUID) {
        deleting = true
        return tracker.deleting(deletion, nodeUID)
      },
      track(name, probePlan) {
        if (deleting) watch.decided(process, name)
        deleting = false
        tracker.track(name, probePlan)
      },
    },
    writer: {
      ...createNodeWriter(client, writing),
      confirm: () => term.confirm(writing),
      recordEvent: () => undefined,
    },
    enqueueProbe: (name) => probeQueue.add(name),
    clock: process,
    enqueue: queue.add,
    onDecision: () => undefined,
    onDeleted: () => undefined,
    onRefused: (_, message) => watch.defect(process, new Error(`refused: ${message}`)),
  })

  const synced = [nodes, reports].map((informer) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    informer.run(resolve, signal)
    return promise
  })
  const work = async (): Promise<void> => {
    await Promise.race([Promise.all(synced), aborted(signal)])
    if (!signal.aborted) tracker.resume((name) => nodes.get(name) !== undefined)
    await Promise.all([queue.run(signal), probeQueue.run(signal)])
  }
  await Promise.all([work(), ...inventories.map((inventory) => inventory.run(signal))])
}
