import t from 'tap'
import { decide, settled, vm } from '../../../../../test/fixtures/facts.ts'
import type { NodeFacts } from '../node-facts.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA = 'failure-domain.beta.kubernetes.io/zone'
const TYPE = 'node.kubernetes.io/instance-type'

/** A running Node whose VM went to zone-b, and has more memory. */
function moved(onChange: NodeFacts['settings']['topology']['onChange']): NodeFacts {
  const { ancestry, ...rest } = vm()
  if (ancestry === undefined) throw new Error('the VM of the fixtures has ancestors')
  const compute = ancestry.compute.map((each) =>
    each.type === 'ClusterComputeResource'
      ? { ...each, name: 'cluster-b', tags: [{ category: 'k8s-zone', name: 'zone-b' }] }
      : each,
  )
  const facts = settled({
    vms: [{ ...rest, cluster: 'cluster-b', memoryMB: 32_768, ancestry: { ...ancestry, compute } }],
  })
  return { ...facts, settings: { ...facts.settings, topology: { required: false, onChange } } }
}

const topology = (decision: ReturnType<typeof decide>) =>
  decision.status?.conditions?.find(({ type }) => type === 'TopologyResolved')

t.test('by default it is said, and nothing is changed', async (t) => {
  const decision = decide(moved('report'))
  t.equal(decision.patch, undefined)
  t.match(topology(decision), {
    status: 'False',
    reason: 'TopologyChanged',
    message: /zone is zone-a, .*zone-b.*mem-/,
  })
  t.match(decision.events, [{ type: 'Warning', reason: 'TopologyChanged' }])
  t.match(
    decision.status,
    { topology: { zone: 'zone-b' }, vm: { cluster: 'cluster-b' } },
    'the report has it',
  )
})

t.test('the labels follow where that is asked for', async (t) => {
  const decision = decide(moved('relabel'))
  t.match(decision.patch?.labels, { [ZONE]: 'zone-b', [BETA]: 'zone-b', [TYPE]: /mem-32gb/ })
  t.match(topology(decision), { status: 'True', reason: 'Resolved' })
  t.match(decision.events, [{ type: 'Normal', reason: 'Relabeled', message: /from zone-a to zone-b/ }])
})

t.test('or nothing is said', async (t) => {
  const decision = decide(moved('ignore'))
  t.equal(decision.patch, undefined)
  t.match(topology(decision), { status: 'True', reason: 'Resolved' })
  t.same(decision.events, [])
})

t.test('who moves back is as before', async (t) => {
  const away = moved('report')
  const status = decide(away).status ?? {}
  const report = away.report === undefined ? undefined : { ...away.report, status }
  const back = decide({ ...away, report, lookups: settled().lookups })
  t.match(topology(back), { status: 'True', reason: 'Resolved' })
})

for (const [what, labels] of [
  ['without the label', { [ZONE]: undefined, [BETA]: 'zone-x' }],
  ['with the label', { [ZONE]: 'zone-b', [BETA]: 'zone-x' }],
] as const)
  t.test(`a beta label with another value is reported, ${what}`, async (t) => {
    const of = (onChange: NodeFacts['settings']['topology']['onChange']) => {
      const facts = moved(onChange)
      const { [ZONE]: _, ...others } = facts.node.labels
      const { [ZONE]: standard, ...beta } = labels
      const own = { ...others, ...beta, ...(standard === undefined ? {} : { [ZONE]: standard }) }
      return decide({ ...facts, node: { ...facts.node, labels: own } })
    }
    const reported = of('report')
    t.equal(reported.patch, undefined)
    const lacks = labels[ZONE] === undefined ? `, so label ${ZONE} is not written` : ''
    t.match(topology(reported), {
      reason: 'TopologyChanged',
      message: `label ${BETA} is zone-x, and vCenter says zone-b${lacks}`,
    })
    const relabeled = of('relabel')
    t.equal(relabeled.patch?.labels?.[BETA], 'zone-b')
    t.match(relabeled.events, [{ reason: 'Relabeled', message: `${BETA} from zone-x to zone-b` }])
    t.same(of('ignore').events, [])
  })

t.test('the same goes for region and instance type', async (t) => {
  for (const [label, beta] of [
    ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
    [TYPE, 'beta.kubernetes.io/instance-type'],
  ] as const) {
    const facts = settled()
    const { [label]: _, ...others } = facts.node.labels
    const decision = decide({ ...facts, node: { ...facts.node, labels: { ...others, [beta]: 'other' } } })
    t.equal(decision.patch, undefined)
    t.match(topology(decision), { reason: 'TopologyChanged', message: `label ${beta} is other, ` })
  }
})
