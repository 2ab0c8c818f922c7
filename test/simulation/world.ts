import type { DecisionConfig } from '../../controller/config/config.ts'
import type { Judge } from './invariants/promises.ts'
import type { ApiServer } from './model/api-server.ts'
import type { Certificates } from './model/certificates.ts'
import type { ConfigFile } from './model/config-file.ts'
import type { Machine } from './model/machine.ts'
import type { Machines } from './model/machines.ts'
import type { Process } from './model/process.ts'
import type { VCenterModel } from './model/vcenter.ts'
import type { Random } from './random.ts'
import type { Timeline } from './timeline.ts'

/** All that there is in one run. */
export interface World {
  readonly timeline: Timeline
  readonly random: Random
  /** As the last valid configuration file says. */
  readonly settings: DecisionConfig
  readonly configFile: ConfigFile
  readonly api: ApiServer
  readonly vCenters: readonly VCenterModel[]
  /** Copies of their appliances that were ever configured beside them, the newest last. */
  readonly clones: readonly VCenterModel[]
  readonly machines: Machines
  readonly certificates: Certificates
  /** The replicas that run, or would. */
  readonly processes: readonly Process[]
  readonly judge: Judge
  leader(): Process | undefined
  /** Kills a replica; another takes its place after a while. */
  restart(process: Process, after: number): void
  /** Until when what nobody mends may last. */
  readonly healing: { until: number }
  /** A vCenter of nobody's knowledge. */
  anotherVCenter(name: string, random: Random): VCenterModel
  /** One that says it is this one, and has nothing of its inventory yet. It answers once the configuration names it. */
  cloneVCenter(original: VCenterModel, random: Random): VCenterModel
  /** What a person writes into the annotation of a Node. */
  annotate(nodeName: string, value: string | undefined): void
  /** The same of the annotation that says which VM a Node is, by its instance UUID. */
  nameVM(nodeName: string, instanceUUID: string | undefined): void
  /** Stops all that runs, and frees it. */
  end(): void
}

/** The machines whose kubelet speaks, or has spoken last, for a Node. */
export function machinesOf({ machines }: World, nodeUID: string): readonly Machine[] {
  return machines.all.filter((machine) => machine.nodeUID === nodeUID)
}
