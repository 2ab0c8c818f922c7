import t from 'tap'
import { after, decide, settled, vm } from '../../../../../test/fixtures/facts.ts'
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
    const ignored = of('ignore')
    t.equal(ignored.patch, undefined)
    if (labels[ZONE] !== undefined) {
      t.same(ignored.events, [])
      return
    }
    const message = `label ${BETA} is zone-x, and vCenter says zone-b${lacks}: the VM`
    t.match(topology(ignored), { reason: 'TopologyChanged', message }, 'and nothing of its size')
    t.match(ignored.events, [{ type: 'Warning', reason: 'TopologyChanged' }])
  })

const BETAS = [
  [ZONE, BETA],
  ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
  [TYPE, 'beta.kubernetes.io/instance-type'],
] as const

/** The Node with another value under this beta name alone. */
function otherwise(facts: NodeFacts, [label, beta]: (typeof BETAS)[number]): NodeFacts {
  const { [label]: _, ...others } = facts.node.labels
  return { ...facts, node: { ...facts.node, labels: { ...others, [beta]: 'other' } } }
}

t.test('the same goes for region and instance type', async (t) => {
  for (const names of BETAS) {
    const decision = decide(otherwise(settled(), names))
    t.equal(decision.patch, undefined)
    t.match(topology(decision), { reason: 'TopologyChanged', message: `label ${names[1]} is other, ` })
  }
})

/** The VM with these tags above it, and what could not be read there. */
function tagged(tags: readonly (readonly [category: string, name: string])[], unreadable: string[] = []) {
  const { ancestry, ...rest } = vm()
  if (ancestry === undefined) throw new Error('the VM of the fixtures has ancestors')
  const bare = (each: (typeof ancestry.compute)[number]) => ({ ...each, tags: [] })
  const [host, ...above] = ancestry.compute.map(bare)
  if (host === undefined) throw new Error('the VM of the fixtures has a host')
  const own = { ...host, tags: tags.map(([category, name]) => ({ category, name })) }
  const folder = ancestry.folder.map(bare)
  const unreadAbove = { compute: unreadable.map((why) => ({ why })) }
  return { ...rest, ancestry: { ...ancestry, compute: [own, ...above], folder, unreadAbove } }
}

const IN_ZONE = ['k8s-zone', 'zone-a'] as const
const IN_REGION = ['k8s-region', 'region-1'] as const
const [OF_ZONE, OF_REGION, OF_TYPE] = BETAS

for (const [names, reason, above] of [
  [OF_ZONE, 'TagMissing', tagged([IN_ZONE])],
  [OF_ZONE, 'TagsAmbiguous', tagged([IN_ZONE, IN_REGION, ['k8s-region', 'region-2']])],
  [OF_ZONE, 'TagsAmbiguous', tagged([IN_ZONE, ['k8s-zone', 'zone-b'], IN_REGION])],
  [OF_ZONE, 'TagsUnreadable', tagged([IN_ZONE], ['host esx-1'])],
  [OF_ZONE, 'TagsUnreadable', tagged([IN_ZONE], ['long '.repeat(400)])],
  [OF_REGION, 'TagMissing', tagged([IN_REGION])],
  [OF_REGION, 'TagsAmbiguous', tagged([IN_ZONE, ['k8s-zone', 'zone-b'], IN_REGION])],
  [OF_REGION, 'TagsUnreadable', tagged([IN_REGION], ['host esx-1'])],
  [OF_TYPE, 'TagMissing', tagged([])],
  [OF_TYPE, 'TagsAmbiguous', tagged([IN_ZONE, ['k8s-zone', 'zone-b'], IN_REGION])],
  [OF_TYPE, 'TagsUnreadable', tagged([], ['host esx-1'])],
] as const)
  t.test(`${names[0]} that is held back is told after ${reason}`, async (t) => {
    for (const onChange of ['report', 'ignore'] as const) {
      const facts = settled({ vms: [above] })
      const settings = { ...facts.settings, topology: { required: false, onChange } }
      const alone = topology(decide({ ...facts, settings }))
      t.match(alone, { status: 'False', reason })
      const held = otherwise({ ...facts, settings }, names)
      const decision = decide(held)
      t.equal(decision.patch, undefined)
      const said = topology(decision)
      t.match(said, { status: 'False', reason })
      t.equal(said?.message.slice(0, 100), alone?.message.slice(0, 100))
      t.match(
        said?.message,
        new RegExp(`; label ${names[1]} is other, .* so label ${names[0]} is not written`),
      )
      t.match(said?.message, /set topology.onChange to relabel$/)
      const again = decide(after(held, decision))
      t.match(again, { patch: undefined, events: [] })
      t.same(topology(again), said, 'so it is written once')
    }
  })

t.test(
  'of several tags on one object the one in the beta label counts where that stands alone',
  async (t) => {
    const above = tagged([...['zone-0', 'zone-a'].map((name) => ['k8s-zone', name] as const), IN_REGION])
    for (const onChange of ['report', 'relabel'] as const) {
      const facts = settled({ vms: [above] })
      const { [ZONE]: _, ...labels } = facts.node.labels
      t.equal(labels[BETA], 'zone-a')
      const settings = { ...facts.settings, topology: { required: false, onChange } }
      const decision = decide({ ...facts, settings, node: { ...facts.node, labels } })
      t.same(decision.patch, { labels: { [ZONE]: 'zone-a' } })
      t.equal(topology(decision)?.reason, 'TagsAmbiguous')
    }
  },
)

t.test('relabel: what another provider does not write is told, not called resolved', async (t) => {
  const facts = moved('relabel')
  const interlock = { state: 'held', message: 'stop the CPI' } as const
  const settings = { ...facts.settings, initialization: { ...facts.settings.initialization, on: false } }
  const { [ZONE]: zone, ...others } = facts.node.labels
  for (const other of [
    { ...facts, interlock },
    { ...facts, settings },
  ])
    for (const [value, labels] of [
      [zone, facts.node.labels],
      ['zone-x', { ...others, [BETA]: 'zone-x' }],
    ] as const) {
      const decision = decide({ ...other, node: { ...facts.node, labels } })
      t.match(topology(decision), {
        status: 'False',
        reason: 'TopologyChanged',
        message: new RegExp(
          `is ${value}, and vCenter says zone-b.* or end the other provider that writes labels and set topology.onChange to relabel$`,
        ),
      })
      t.equal(decision.patch?.labels, undefined)
    }
})

t.test('a move is told after another remark as well, and ignored where that is asked for', async (t) => {
  const above = tagged([['k8s-zone', 'zone-b']])
  for (const [onChange, isTold] of [
    ['report', true],
    ['ignore', false],
  ] as const) {
    const facts = settled({ vms: [above] })
    const settings = { ...facts.settings, topology: { required: false, onChange } }
    const said = topology(decide({ ...facts, settings }))
    t.equal(said?.reason, 'TagMissing')
    t.equal(said?.message.includes(`; label ${ZONE} is zone-a, and vCenter says zone-b`), isTold)
  }
})
