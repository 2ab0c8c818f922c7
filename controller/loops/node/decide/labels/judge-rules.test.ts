import t from 'tap'
import { ancestor, decide, facts, node, report, SETTINGS, vm } from '../../../../../test/fixtures/facts.ts'
import type { LabelRule } from '../../../../config/config.ts'
import type { Node } from '../../../../types/node.ts'
import type { Ancestor, Ancestry, TagLack, VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { AbsentLabels } from '../node-facts.ts'

const PREFIX = 'rollcall.node-restriction.kubernetes.io/'
const RACK = `${PREFIX}rack`
const OTHER = 'example.com/rack'
const VM = vm()
const ANCESTRY: Ancestry = VM.ancestry ?? { compute: [], resourcePool: [], folder: [], unreadable: [] }

const rule = (changes: Partial<LabelRule> = {}): LabelRule => ({
  label: RACK,
  from: { kind: 'tagCategory', name: 'rack' },
  map: new Map(),
  when: 'live',
  ...changes,
})

/** A VM with these tags of the category "rack" on its host. */
const tagged = (...names: string[]) => withHost({ tags: names.map((name) => ({ category: 'rack', name })) })
const withHost = (host: Partial<Ancestry['compute'][number]>, more: Partial<Ancestry> = {}) =>
  vm({
    ancestry: {
      ...ANCESTRY,
      compute: [{ ...ancestor('HostSystem', 'esx-1'), ...host }, ...ANCESTRY.compute.slice(1)],
      ...more,
    },
  })

/** An initialized Node with these labels, and what is recorded of them. */
const running = (labels: Node['labels'] = {}, labelRecord?: string) =>
  node({ taints: [], providerID: `vsphere://${VM.biosUUID}`, labels, labelRecord })

interface Given {
  readonly rules?: readonly LabelRule[]
  readonly on?: VirtualMachine
  readonly of?: Node
  readonly reads?: number
  readonly absent?: AbsentLabels
}

function judged({ rules = [rule()], on = tagged('r1'), of = node(), reads = 0, absent = new Map() }: Given) {
  const decision = decide(
    facts({
      node: of,
      report: report(),
      vms: [on],
      settings: { ...SETTINGS, labels: { zone: undefined, region: undefined }, labelRules: rules },
      fullReads: () => reads,
      absentLabels: absent,
    }),
  )
  const { [RACK]: rack, [OTHER]: other } = decision.patch?.labels ?? {}
  const condition = decision.status?.conditions?.find(({ type }) => type === 'LabelsResolved')
  return {
    rack,
    other,
    record: decision.patch?.annotations?.['rollcall.dev/labels'],
    said:
      condition === undefined ? undefined : `${condition.status} ${condition.reason} ${condition.message}`,
    events: decision.events.filter(({ reason }) => /Label|Relabeled/.test(reason)),
    absent: decision.absentLabels,
    again: decision.requeueAfter,
  }
}

t.test('a new Node gets its labels with the patch that initializes it, and a record of them', async (t) => {
  t.match(judged({}), { rack: 'r1', record: `${RACK}=r1`, said: `True Resolved ${RACK} is r1`, events: [] })
  t.match(judged({ rules: [] }), { rack: undefined, record: undefined, said: undefined })
})

t.test('a running Node follows, by what Rollcall wrote', async (t) => {
  t.match(judged({ of: running() }), {
    rack: 'r1',
    record: `${RACK}=r1`,
    events: [{ type: 'Normal', reason: 'Relabeled', message: new RegExp(`${RACK} is r1`) }],
  })
  t.match(judged({ of: running({ [RACK]: 'r1' }, `${RACK}=r1`) }), { rack: undefined, record: undefined })
  t.match(judged({ of: running({ [RACK]: 'r0' }, `${RACK}=r0,${OTHER}=x`) }), {
    rack: 'r1',
    record: `${OTHER}=x,${RACK}=r1`,
    events: [{ message: new RegExp(`${RACK} from r0 to r1`) }],
  })
  t.match(
    judged({ of: running({}, `${RACK}=r1`) }),
    { rack: 'r1' },
    'one that somebody removed is written again',
  )
})

t.test('what others wrote stays, and the condition says so', async (t) => {
  const persons = judged({ of: running({ [RACK]: 'mine' }, `${RACK}=r0`) })
  t.match(persons, {
    rack: undefined,
    record: undefined,
    said: /^False LabelNotOurs .*rack is mine, which Rollcall did not write, and vCenter says r1/,
    events: [{ type: 'Warning', reason: 'LabelNotOurs' }],
  })
  t.match(judged({ of: running({ [RACK]: 'mine' }) }), { rack: undefined, said: /LabelNotOurs/ })
  t.match(
    judged({ of: running({ [RACK]: 'r1' }) }),
    { record: undefined, said: /^True/ },
    'nor is it claimed',
  )
})

t.test('beyond the prefix, a label is given by the initialization alone', async (t) => {
  const rules = [rule({ label: OTHER })]
  t.match(judged({ rules }), { other: 'r1', record: `${OTHER}=r1` })
  t.match(judged({ rules, on: tagged() }), { other: undefined, record: `${OTHER}=` }, 'it may come later')
  t.match(judged({ rules, of: running({}, `${OTHER}=`) }), { other: 'r1', record: `${OTHER}=r1` })
  t.match(judged({ rules, of: running() }), {
    other: undefined,
    record: undefined,
    said: /^False LabelNotOurs .*only Nodes that are initialized with the rule/,
  })
  const first = judged({ rules, of: node({ labels: { [OTHER]: 'kubelet' } }) })
  t.match(first, { other: undefined, record: undefined, said: /LabelNotOurs .*is kubelet, which/ })
})

t.test('a record that came with the registration counts for nothing', async (t) => {
  const rules = [rule(), rule({ label: OTHER })]
  const labelRecord = `${RACK}=r1,${OTHER}=kubelet,example.com/role=admin`
  const forged = node({ labels: { [OTHER]: 'kubelet' }, labelRecord })
  t.match(judged({ rules, of: forged }), { rack: 'r1', other: undefined, record: `${RACK}=r1` })
  t.match(judged({ of: node({ labelRecord }), on: tagged() }), { rack: undefined, record: null })
})

t.test('an absence counts once all was read twice since it was first seen', async (t) => {
  const of = running({ [RACK]: 'r1' }, `${RACK}=r1`)
  const first = judged({ of, on: tagged(), reads: 7 })
  t.match(first, { rack: undefined, record: undefined, again: 60_000, said: /^True .*rack stays r1 until/ })
  t.same([...(first.absent ?? [])], [[`vc1 ${RACK}`, 7]])
  const absent = first.absent ?? new Map()
  const second = judged({ of, on: tagged(), reads: 8, absent })
  t.match(second, { rack: undefined, absent: first.absent })
  t.match(judged({ of, on: tagged(), reads: 9, absent }), {
    rack: null,
    record: null,
    absent: undefined,
    events: [{ reason: 'Relabeled', message: new RegExp(`${RACK} was r1 and is removed`) }],
  })
  t.match(
    judged({ of, on: tagged('r1'), reads: 9, absent }),
    { rack: undefined, absent: undefined },
    'it is back',
  )
  const others = running({ [RACK]: 'mine' }, `${RACK}=r1`)
  t.match(judged({ of: others, on: tagged(), reads: 9, absent }), { rack: undefined }, 'a person’s')
  const recorded = judged({
    rules: [rule({ label: OTHER })],
    of: running({ [OTHER]: 'r1' }, `${OTHER}=r1`),
    on: tagged(),
    reads: 9,
    absent: new Map([[`vc1 ${OTHER}`, 7]]),
  })
  t.match(recorded, { other: null, record: `${OTHER}=` }, 'and may come again')
})

t.test('what cannot be read, or may be several, changes nothing, and the condition says so', async (t) => {
  const of = running({ [RACK]: 'r1' }, `${RACK}=r1`)
  const attribute = rule({ from: { kind: 'attribute', name: 'Rack' } })
  const attributed = (values: readonly string[] | string) =>
    vm({ attributes: new Map([['Rack', typeof values === 'string' ? { unread: values } : { values }]]) })
  const lacking = (lack: TagLack) => withHost({}, { lacking: new Map([['rack', lack]]) })
  const unread = [{ why: 'HostSystem esx-1: 503' }]
  const cases: readonly [string, VirtualMachine, RegExp, LabelRule?][] = [
    [
      'no category',
      lacking('category'),
      /^Unknown LabelUnreadable .*stays r1: "rack": vCenter shows no such tag category/,
    ],
    ['no category at all', lacking('categories'), /LabelUnreadable .*no tag category at all/],
    ['no tag in it', lacking('tags'), /LabelUnreadable .*no tag in this category/],
    [
      'a category that may be unread',
      lacking({ unread: 'tag categories: 403' }),
      /LabelUnreadable .*but not all could be read \(tag categories: 403\)/,
    ],
    ['an unread object', withHost({ unread }), /LabelUnreadable .*not readable: HostSystem esx-1: 503/],
    [
      'an unread, nearer object',
      withHost({ unread, tags: [{ category: 'rack', name: 'r2' }] }),
      /LabelUnreadable/,
    ],
    [
      'two tags',
      tagged('r2', 'r1'),
      /^False LabelAmbiguous .*2 tags of category "rack" .*\("r1", "r2"\): detach/,
    ],
    [
      'a name that is not a value',
      tagged('北京-1'),
      /^False LabelInvalid .*"北京-1" is not a label value .*map/,
    ],
    ['an empty name', tagged(''), /^False LabelInvalid .*"" is not a label value/],
    [
      'one that another is mapped to',
      tagged('r9'),
      /LabelAmbiguous .*same value as "北京-1"/,
      rule({ map: new Map([['北京-1', 'r9']]) }),
    ],
    ['attributes not read yet', vm(), /LabelUnreadable .*not read yet/, attribute],
    ['attributes unread', attributed('no right'), /LabelUnreadable .*no right/, attribute],
    [
      'two attributes of one name',
      attributed(['r1', 'r2']),
      /LabelAmbiguous .*2 custom attributes/,
      attribute,
    ],
    ['an attribute that is no value', attributed(['a b']), /LabelInvalid/, attribute],
  ]
  for (const [what, on, said, by = rule()] of cases) {
    const absent = new Map([[`vc1 ${RACK}`, 0]])
    t.match(
      judged({ of, on, rules: [by], reads: 9, absent }),
      { rack: undefined, record: undefined, said },
      what,
    )
    t.match(
      judged({ on, rules: [by] }),
      { rack: undefined, said: /is not written/ },
      `${what}, of a new Node`,
    )
  }
  t.match(judged({ on: tagged('北京-1'), rules: [rule({ map: new Map([['北京-1', 'bj1']]) })] }), {
    rack: 'bj1',
  })
  t.match(judged({ on: attributed(['r1', 'r1']), rules: [attribute] }), { rack: 'r1' })
  t.match(judged({ of, on: attributed([]), rules: [attribute] }), { said: /stays r1 until/ })
})

t.test('places', async (t) => {
  const from = (kind: 'host' | 'cluster' | 'resourcePool' | 'folder' | 'datacenter', on = vm()) =>
    judged({ rules: [rule({ from: { kind } })], on })
  t.match(from('host'), { rack: 'esx-1' })
  t.match(from('cluster'), { rack: 'cluster-a' })
  t.match(from('resourcePool'), { rack: 'Resources' })
  t.match(from('folder'), { rack: 'vm' })
  t.match(from('datacenter'), { rack: 'DC0' })
  const alone = [
    ancestor('HostSystem', 'esx-9'),
    ancestor('ComputeResource', 'esx-9'),
    ancestor('Datacenter', 'DC0'),
  ]
  t.match(from('cluster', vm({ ancestry: { ...ANCESTRY, compute: alone } })), {
    said: /^True .*has no value/,
  })
  const hidden = [{ why: 'hidden', hidden: true }] as const
  const untagged = [{ why: 'tag categories: HTTP status 403' }]
  const beside = (place: Parameters<typeof from>[0], changes: Partial<Ancestry>) =>
    from(place, vm({ ancestry: { ...ANCESTRY, ...changes } }))
  const [host = ancestor('HostSystem', 'esx-9')] = alone
  for (const changes of [
    { compute: [host], unreadAbove: { compute: hidden } },
    { compute: [host, { ...ancestor('Folder', 'host'), unread: hidden }] },
  ])
    t.match(beside('cluster', changes), { said: /LabelUnreadable .*the cluster of the VM is not readable/ })
  const compute = alone.map((each) => ({ ...each, unread: untagged }))
  const tagsAlone = beside('cluster', { compute, unreadAbove: { compute: untagged } })
  t.match(tagsAlone, { said: /^True .*has no value/ }, 'tags hide no object')
  const SEVERAL = { rack: undefined, said: /LabelUnreadable/ }
  for (const [place, way, below] of [
    ['resourcePool', 'resourcePool', SEVERAL],
    ['folder', 'folder', SEVERAL],
    ['host', 'compute', { rack: String }],
    ['datacenter', 'folder', { rack: String }],
  ] as const) {
    const all = (unread: Ancestor['unread']) => ({
      [way]: ANCESTRY[way].map((each) => ({ ...each, unread })),
    })
    t.match(beside(place, all(untagged)), { rack: String }, `${place} without its tags`)
    t.match(beside(place, all(hidden)), below, `${place} above a hidden object`)
  }
  t.match(from('host', vm({ ancestry: { ...ANCESTRY, compute: [] } })), { said: /LabelUnreadable/ })
  const vApp = [ancestor('VirtualMachine', 'a'), ancestor('VirtualApp', 'b'), ancestor('Folder', 'host')]
  t.match(from('folder', vm({ ancestry: { ...ANCESTRY, folder: vApp } })), {
    rack: undefined,
    said: /no value/,
  })
})

t.test('a VM that moves is labelled once, when all of its new place is read', async (t) => {
  const of = running({ [RACK]: 'r0' }, `${RACK}=r0`)
  const absent = new Map([[`vc1 ${RACK}`, 3]])
  const moving = judged({ of, on: { ...tagged('r1'), moving: true }, absent })
  t.match(moving, { rack: undefined, record: undefined, said: undefined })
  t.equal(moving.absent, absent)
  t.match(judged({ of, on: { ...tagged('r1'), moving: false } }), { rack: 'r1' })
  t.match(judged({ on: { ...tagged('r1'), moving: true } }), { rack: 'r1' }, 'a new Node does not wait')
})

t.test('a rule for the initialization leaves running Nodes alone', async (t) => {
  const rules = [rule({ when: 'initialize' })]
  t.match(judged({ rules }), { rack: 'r1', record: `${RACK}=r1` })
  const of = running({ [RACK]: 'r0' }, `${RACK}=r0`)
  t.match(judged({ rules, of }), { rack: undefined, said: /^True Resolved .*rack keeps r0/ })
  t.match(judged({ rules, of: running() }), { rack: undefined, said: /keeps no value/ })
})
