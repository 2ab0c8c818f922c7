/** A replica of the controller: the real election and the real work of a leader, on the model's edges. */
import { pino } from 'pino'
import type { VCenterConfig } from '../../../controller/config/config.ts'
import { ConfigError } from '../../../controller/config/findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from '../../../controller/config/load.ts'
import type { EventDetails } from '../../../controller/kubernetes/event-recorder.ts'
import { type CandidateOptions, createCandidate } from '../../../controller/leader/candidate.ts'
import type { Logger } from '../../../controller/lib/log.ts'
import {
  createProbeTracker,
  type ProbeTracker,
} from '../../../controller/loops/node/vm-probes/probe-tracker.ts'
import type { VCenterProbe } from '../../../controller/types/inventory.ts'
import { openInventory } from '../../../controller/vcenter/inventory.ts'
import { TIMINGS } from '../../../controller/vcenter/timings.ts'
import type { Timeline } from '../timeline.ts'
import type { ApiServer } from './api-server.ts'
import type { ConfigFile } from './config-file.ts'
import { createModelConnection, type LoginWatch } from './connection.ts'
import { createModelClient } from './network.ts'
import type { Process } from './process.ts'
import type { VCenterModel } from './vcenter.ts'

/** Called with what a controller does, before it takes effect. */
export interface ControllerWatch extends LoginWatch {
  /** A VM is probed in all vCenters. */
  asked(process: Process, nodeName: string): void
  /** All have answered or failed; this is the result. */
  heard(
    process: Process,
    nodeName: string,
    probes: readonly VCenterProbe[],
    heartbeat: string | undefined,
  ): void
  /** From now on the controller knows the result. */
  answered(process: Process, nodeName: string): void
  /** The report of a Node has arrived as it was written then. */
  arrived(process: Process, nodeName: string, writtenAt: number): void
  /** A deletion was decided on. */
  decided(process: Process, nodeName: string): void
  /** A vCenter is opened without the credential that it was opened with before. */
  forgotten(process: Process, vCenter: string): void
  /** Whatever went wrong that is no failure of the world. */
  defect(process: Process, error: unknown): void
}

/** What people see of a controller: its Events and its metrics. */
export interface ControllerOnlooker {
  /** The controller says this; a recorder would count what is said twice. */
  told(event: EventDetails): void
  /** Of a replica that starts. */
  metricsOf(process: Process): CandidateOptions['metrics']
}

export interface ControllerModelOptions {
  readonly api: ApiServer
  /** What answers at the address that the configuration has under a name; undefined where none was ever meant to. */
  readonly vCenterNamed: (name: string) => VCenterModel | undefined
  readonly process: Process
  readonly timeline: Timeline
  readonly configFile: ConfigFile
  readonly watch: ControllerWatch
  readonly onlooker?: ControllerOnlooker | undefined
  /** The process has exited at its start, because the configuration is invalid. */
  readonly onExit: () => void
}

/** How long after a webhook has denied a write the controller may say so, milliseconds. */
const DENIED_LATELY = 60_000

const NO_VCENTER_METRICS = {
  call: () => undefined,
  reconnect: () => undefined,
  unwatched: () => undefined,
  resynced: () => undefined,
}
const NO_METRICS = {
  decided: () => undefined,
  certificateJudged: () => undefined,
  reconciled: () => undefined,
  queueDepth: () => undefined,
  queueActive: () => undefined,
  slowNodes: () => undefined,
  controllersRun: () => undefined,
  workQueue: {
    added: () => undefined,
    started: () => undefined,
    ended: () => undefined,
    retried: () => undefined,
  },
  vCentersUp: () => undefined,
  policyInForce: () => undefined,
  cpiRuns: () => undefined,
  agentVersions: () => undefined,
  lifecycle: () => undefined,
  nodeDeleted: () => undefined,
  leading: () => undefined,
  leaseReadAgain: () => undefined,
  configTaken: () => undefined,
  configRefused: () => undefined,
  credentials: () => undefined,
  vCenter: () => NO_VCENTER_METRICS,
}

/** Runs until the signal aborts, or the process is killed. */
export async function runController(options: ControllerModelOptions, signal: AbortSignal): Promise<void> {
  const { process, api, timeline, watch, onlooker } = options
  const random = process.random.next
  const logger = createDefectLogger(options)
  const client = createModelClient({
    api,
    process,
    timeline,
    onArrival: ({ metadata }, at) => watch.arrived(process, metadata.name, at),
  })
  const source = options.configFile.source(process)
  let connections = 0
  const withCredential = new Set<string>()
  try {
    const loaded = await loadAtStart(source)
    if (loaded === undefined) return options.onExit()
    await createCandidate({
      config: { ...source, loaded },
      leaseClient: client,
      client,
      limit: (client) => client,
      lease: { namespace: 'kube-system', name: 'rollcall' },
      identity: process.name,
      userAgent: process.name,
      timings: TIMINGS,
      openInventory(inventory) {
        const { name, noCredential } = inventory.config
        if (noCredential === undefined) withCredential.add(name)
        else if (withCredential.has(name)) watch.forgotten(process, name)
        const vCenter = vCenterOf(options, inventory.config)
        return openInventory({
          ...inventory,
          openConnection: ({ userAgent }) =>
            createModelConnection({
              vCenter,
              userAgent,
              process,
              timeline,
              logins: watch,
              owner: `${process.name}/${++connections}/${name}`,
            }),
        })
      },
      createTracker: () => createWatchedTracker(process, watch),
      events: { event: (event) => onlooker?.told(event) },
      clock: process,
      random,
      logger,
      metrics: onlooker?.metricsOf(process) ?? NO_METRICS,
      onWork: () => undefined,
    }).run(signal)
  } catch (error) {
    watch.defect(process, error)
  }
}

/** Undefined where the file has a mistake. */
async function loadAtStart(source: ConfigSource): Promise<LoadedConfig | undefined> {
  try {
    return await loadConfig(source)
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}

/** The real one, which says what it is told. */
function createWatchedTracker(process: Process, watch: ControllerWatch): ProbeTracker {
  const tracker = createProbeTracker(() => process.monotonic())
  let deleting = false
  return {
    ...tracker,
    request(name) {
      const request = tracker.request(name)
      if (request !== undefined) watch.asked(process, name)
      return request
    },
    record(name, request, result) {
      const probes = [...result.probes, ...result.others.flatMap((each) => each.probes)]
      watch.heard(process, name, probes, result.heartbeat)
      tracker.record(name, request, result)
      watch.answered(process, name)
    },
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
  }
}

/** What goes wrong in the world is none of its business; what only the code can have done is. */
function createDefectLogger({ process, watch, api, timeline }: ControllerModelOptions): Logger {
  const wasDenied = (fields: unknown): boolean =>
    typeof fields === 'object' &&
    fields !== null &&
    'node' in fields &&
    timeline.now - (api.deniedAt.get(String(fields.node)) ?? Number.NEGATIVE_INFINITY) < DENIED_LATELY
  return pino(
    {
      level: 'warn',
      hooks: {
        logMethod([fields, message]: unknown[]) {
          const error =
            typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined
          if (error instanceof TypeError || (message === 'write refused' && !wasDenied(fields)))
            watch.defect(process, error ?? new Error(JSON.stringify(fields)))
        },
      },
    },
    { write: () => undefined },
  )
}

function vCenterOf({ vCenterNamed }: ControllerModelOptions, { name }: VCenterConfig): VCenterModel {
  const vCenter = vCenterNamed(name)
  if (vCenter === undefined) throw new Error(`no vCenter ${name} was ever meant to be configured`)
  return vCenter
}
