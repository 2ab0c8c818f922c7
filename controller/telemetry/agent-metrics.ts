/** Which versions of the agent report: what an operator who rolls one out wants to see. */
import { Gauge, type Registry } from 'prom-client'

export interface AgentMetrics {
  /** The version of each agent that reports, read at each scrape of the leader. */
  agentVersions(read: () => Iterable<string>): void
}

/** Versions that are counted by themselves, and what they look like: a node may report any text. */
const MAX_VERSIONS = 10
const VERSION = /^\d+\.\d+\.\d+[0-9A-Za-z.+-]{0,24}$/

export function addAgentMetrics(registry: Registry): AgentMetrics {
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
    agentVersions(read) {
      readVersions = read
    },
  }
}
