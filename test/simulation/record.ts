/** What a scene remembers of the controllers: their Events, their metrics, and what they wrote. */
import type { EventDetails } from '../../controller/kubernetes/event-recorder.ts'
import { createMetrics, type Metrics } from '../../controller/telemetry/metrics.ts'
import type { Onlooker } from './create-world.ts'
import type { Write } from './model/api-server.ts'

export interface SceneRecord extends Onlooker {
  /** Events about a Node, oldest first; of one reason, where it is given. */
  events(nodeName: string, reason?: string): readonly EventDetails[]
  /** How often controllers have written a Node itself; its report does not count. */
  nodeWrites(nodeName: string): number
  /** Names of the Nodes for which a brake was ever on record. */
  latched(): readonly string[]
  /** The value of one series of a replica, such as `rollcall_vcenter_up{vcenter="vc-1"}`; undefined where it has none. */
  series(replica: string, name: string): Promise<number | undefined>
}

export function createRecord(): SceneRecord {
  const events: EventDetails[] = []
  const writes: Write[] = []
  const metrics = new Map<string, Metrics>()

  return {
    told(event) {
      events.push(event)
    },
    wrote(write) {
      writes.push(write)
    },
    metricsOf(process) {
      const made = createMetrics({ version: 'model', lease: 'rollcall', clock: process })
      metrics.set(process.name, made)
      return made
    },
    events: (nodeName, reason) =>
      events.filter(
        (event) => event.regarding.name === nodeName && (reason === undefined || event.reason === reason),
      ),
    nodeWrites: (nodeName) =>
      writes.filter(({ what, before }) => what !== 'report status' && before.metadata.name === nodeName)
        .length,
    latched: () =>
      writes.flatMap((write) =>
        write.what === 'report status' && write.after.status.brakeEngagedAt !== undefined
          ? [write.after.metadata.name]
          : [],
      ),
    async series(replica, name) {
      const lines = ((await metrics.get(replica)?.text()) ?? '').split('\n')
      const line = lines.find((each) => each.startsWith(`${name} `))
      return line === undefined ? undefined : Number(line.slice(name.length + 1))
    },
  }
}
