import type {
  CertificatesConfig,
  DecisionConfig,
  LabelRule,
  LabelSource,
} from '../../controller/config/config.ts'
import { SETTINGS } from '../fixtures/facts.ts'
import { OWNER } from './model/label-sources.ts'
import { CATEGORIES, RACK } from './model/tagging.ts'
import type { Random } from './random.ts'

/** Labels by rule: one of tags, one beyond the prefix, one that a move changes at once. */
export const LABEL_RULES: readonly LabelRule[] = [
  {
    label: 'rollcall.node-restriction.kubernetes.io/rack',
    from: { kind: 'tagCategory', name: RACK },
    map: new Map(),
    when: 'live',
  },
  { label: 'example.com/rack', from: { kind: 'tagCategory', name: RACK }, map: new Map(), when: 'live' },
  {
    label: 'rollcall.node-restriction.kubernetes.io/host',
    from: { kind: 'host' },
    map: new Map(),
    when: 'live',
  },
]

const OWN = 'rollcall.node-restriction.kubernetes.io'
const rule = (label: string, from: LabelSource, differs: Partial<LabelRule> = {}): LabelRule => ({
  label,
  from,
  map: new Map(),
  when: 'live',
  ...differs,
})

/** Those, and one of each other source; by their maps folder-1 may be two things, and an owner who is no label value is one. */
export const ALL_LABEL_RULES: readonly LabelRule[] = [
  ...LABEL_RULES,
  rule(`${OWN}/cluster`, { kind: 'cluster' }),
  rule(`${OWN}/pool`, { kind: 'resourcePool' }),
  rule(
    `${OWN}/folder`,
    { kind: 'folder' },
    {
      map: new Map([
        ['folder-0', 'first'],
        ['elsewhere', 'folder-1'],
      ]),
    },
  ),
  rule(`${OWN}/datacenter`, { kind: 'datacenter' }, { when: 'initialize' }),
  rule(`${OWN}/owner`, { kind: 'attribute', name: OWNER }),
  rule('example.com/owner', { kind: 'attribute', name: OWNER }, { map: new Map([['Team C!', 'team-c']]) }),
]

/** What an operator might have configured. Shorter times than the defaults, so that more happens in fewer steps. */
export function drawSettings(random: Random): DecisionConfig {
  const absentFor = 1000 * (random.chance(0.3) ? 20 + random.below(15) : 35 + random.below(60))
  return {
    labels: random.derive('labels').chance(0.4) ? CATEGORIES : { zone: undefined, region: undefined },
    labelRules: random.derive('label rules').pick([[], [], [], LABEL_RULES, ALL_LABEL_RULES]),
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
    certificates: drawCertificates(random.derive('certificates')),
    ipFamilies: {},
  }
}

/** All addresses of the world's machines are in one of these, apart from some that nobody was given. */
export const NETWORK = '10.0.0.0/16'

function drawCertificates(random: Random): CertificatesConfig {
  return {
    approve: random.chance(0.5),
    require: random.chance(0.8) ? 'proven' : 'reported',
    networks: [NETWORK],
    exclude: random.chance(0.3) ? [`10.0.0.${1 + random.below(8)}/32`] : [],
    domains: random.chance(0.3) ? ['example.com'] : [],
  }
}
