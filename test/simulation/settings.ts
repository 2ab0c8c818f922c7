import type { DecisionConfig } from '../../controller/config/config.ts'
import { SETTINGS } from '../fixtures/facts.ts'
import { CATEGORIES } from './model/rest.ts'
import type { Random } from './random.ts'

/** What an operator might have configured. Shorter times than the defaults, so that more happens in fewer steps. */
export function drawSettings(random: Random): DecisionConfig {
  const absentFor = 1000 * (random.chance(0.3) ? 20 + random.below(15) : 35 + random.below(60))
  return {
    labels: random.derive('labels').chance(0.4) ? CATEGORIES : { zone: undefined, region: undefined },
    datacenters: random.chance(0.3) ? { 'vc-1': ['dc-1'] } : {},
    servers: {},
    identity: { require: 'reported', exempt: undefined, requireAllVCenters: true },
    lifecycle: {
      deletion: random.pick(['on', 'on', 'on', 'on', 'on', 'on', 'dry-run', 'off'] as const),
      unbound: random.pick(['report', 'delete'] as const),
      confirmations: 2 + random.below(3),
      absentFor,
      leaderAge: 1000 * (20 + random.below(random.chance(0.5) ? 160 : 40)),
      deletionsPerMinute: random.chance(0.5) ? 1 : 2 + random.below(8),
      maxAbsentShare: random.pick([0.1, 0.2, 0.34, 0.5]),
      maxAbsentMinimum: 1 + random.below(2),
      waitForVolumes: random.chance(0.4) ? 1000 * (5 + random.below(60)) : undefined,
      shutdownTaint: true,
      outOfServiceAfter: random.chance(0.4) ? 1000 * (20 + random.below(40)) : undefined,
      outOfServiceControlPlane: false,
    },
    topology: {
      required: false,
      onChange: random.derive('on change').pick(['report', 'report', 'relabel', 'ignore']),
    },
    initialization: { on: true, labels: {} },
    nodes: SETTINGS.nodes,
    ipFamilies: {},
  }
}
