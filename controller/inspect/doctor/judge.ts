import { chain, fail, fine, type Line, warn } from '../../../agent/shared/diagnosis.ts'
import { count, listed } from '../../lib/listed.ts'
import type { ConfigurationFacts, DoctorFacts } from './facts.ts'
import { judgeAgents } from './judge-agents.ts'
import { clusterSteps } from './judge-cluster.ts'
import { cpiSteps } from './judge-cpi.ts'
import { judgeTwins, judgeVCenter } from './judge-vcenter.ts'

const API_SERVER = 'API server'

/** What `doctor` says about what it has seen, in the order in which one thing depends on another. Pure. */
export function judge(facts: DoctorFacts): readonly Line[] {
  const { configuration, cluster, vCenters, now } = facts
  const seen = cluster.ok ? cluster.value : undefined
  // Leases and reports are written by machines of the cluster.
  const clusterNow = now + (seen?.skew ?? 0)
  const configured = configuration.ok ? configuration.value : undefined
  return [
    ...judgeConfiguration(configuration),
    {
      check: API_SERVER,
      ...(cluster.ok ? fine(`answers, and knows you as ${cluster.value.user}`) : fail(cluster.message)),
    },
    ...vCenters.flatMap((each) => judgeVCenter(each, now)),
    ...judgeTwins(vCenters),
    ...(configuration.ok ? [] : chain([['vCenters', undefined]], 'configuration')),
    ...chain(
      [
        ...clusterSteps(seen, clusterNow),
        ['agents', seen && judgeAgents(seen.nodes, configured, clusterNow)],
        ...cpiSteps(seen),
      ],
      seen === undefined ? API_SERVER : undefined,
    ),
  ]
}

function judgeConfiguration(configuration: DoctorFacts['configuration']): readonly Line[] {
  const check = 'configuration'
  if (!configuration.ok) return configuration.problems.map((problem) => ({ check, ...fail(problem) }))
  const { path, vCenters, warnings }: ConfigurationFacts = configuration.value
  const many = `${count(vCenters.length, 'vCenter')} (${listed(vCenters)})`
  return [
    { check, ...fine(`${path} has ${many}`) },
    ...warnings.map((warning) => ({ check, ...warn(warning) })),
  ]
}
