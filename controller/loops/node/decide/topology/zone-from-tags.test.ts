import t from 'tap'
import { ancestor, decide, settled, vm } from '../../../../../test/fixtures/facts.ts'
import type { Ancestry, TagLack } from '../../../../types/virtual-machine.ts'
import { resolveTopology } from './zone-from-tags.ts'

const CATEGORIES = { zone: 'k8s-zone', region: 'k8s-region' }
const zone = (name: string) => [{ category: 'k8s-zone', name }]
const region = (name: string) => [{ category: 'k8s-region', name }]

function ancestry(changes: Partial<Ancestry>): Ancestry {
  return { compute: [], resourcePool: [], folder: [], unreadable: [], ...changes }
}

const ROWS: { name: string; ancestry: Ancestry; zone?: string; region?: string; reason: string }[] = [
  {
    name: 'the nearest tag wins',
    ancestry: ancestry({
      compute: [
        ancestor('HostSystem', 'h', zone('near')),
        ancestor('ClusterComputeResource', 'c', [...zone('far'), ...region('r')]),
      ],
    }),
    zone: 'near',
    region: 'r',
    reason: 'Resolved',
  },
  {
    name: 'the host’s side comes before the resource pool, that before the folders',
    ancestry: ancestry({
      compute: [ancestor('HostSystem', 'h', region('compute'))],
      resourcePool: [ancestor('ResourcePool', 'p', [...zone('pool'), ...region('pool')])],
      folder: [ancestor('VirtualMachine', 'vm', [...zone('folder'), ...region('folder')])],
    }),
    zone: 'pool',
    region: 'compute',
    reason: 'Resolved',
  },
  {
    name: 'one tag is missing: the other counts',
    ancestry: ancestry({ compute: [ancestor('Datacenter', 'd', region('r'))] }),
    region: 'r',
    reason: 'TagMissing',
  },
  {
    name: 'some tags are not readable',
    ancestry: ancestry({
      compute: [ancestor('Datacenter', 'd', region('r'))],
      unreadAbove: { folder: [{ why: 'Folder "x"' }] },
    }),
    region: 'r',
    reason: 'TagsUnreadable',
  },
  {
    name: 'a tag that cannot be a label, but nearly',
    ancestry: ancestry({
      compute: [ancestor('Datacenter', 'd', [...zone('zone 1 / left'), ...region('r')])],
    }),
    zone: 'zone-1-left',
    region: 'r',
    reason: 'Resolved',
  },
  {
    name: 'a tag that no label comes near',
    ancestry: ancestry({ compute: [ancestor('Datacenter', 'd', [...zone('东京'), ...region('r')])] }),
    region: 'r',
    reason: 'TagMissing',
  },
]

for (const row of ROWS) {
  t.test(row.name, async (t) => {
    const topology = resolveTopology(row.ancestry, CATEGORIES, false)
    t.equal(topology.zone, row.zone)
    t.equal(topology.region, row.region)
    t.equal(topology.condition.reason, row.reason)
  })
}

t.test('what is missing is named', async (t) => {
  const { message } = resolveTopology(
    ancestry({ compute: [ancestor('HostSystem', 'esx-9')] }),
    CATEGORIES,
    false,
  ).condition
  t.match(message, /k8s-zone.*HostSystem "esx-9"/)
  t.match(message, /k8s-region/)
})

t.test('each category may be left out', async (t) => {
  t.equal(
    resolveTopology(ancestry({}), { zone: undefined, region: undefined }, false).condition.reason,
    'NotConfigured',
  )
  const onlyRegion = resolveTopology(
    ancestry({ compute: [ancestor('Datacenter', 'd', region('r'))] }),
    { zone: undefined, region: 'k8s-region' },
    true,
  )
  t.match(onlyRegion, { zone: undefined, region: 'r', awaitsTags: false, condition: { status: 'True' } })
})

const HOST = ancestor('HostSystem', 'h')
const FAR = ancestor('Datacenter', 'd', [...zone('far'), ...region('r')])
const WHY = 'HostSystem h: HTTP status 403'

const UNREAD: { name: string; ancestry: Ancestry; zone?: string; region?: string }[] = [
  {
    name: 'below it on the same side',
    ancestry: ancestry({ compute: [{ ...HOST, unread: [{ why: WHY }] }, FAR] }),
  },
  {
    name: 'of that category alone',
    ancestry: ancestry({ compute: [{ ...HOST, unread: [{ why: WHY, category: 'k8s-zone' }] }, FAR] }),
    region: 'r',
  },
  {
    name: 'on the same object',
    ancestry: ancestry({ compute: [{ ...FAR, unread: [{ why: WHY, category: 'k8s-zone' }] }] }),
    region: 'r',
  },
  {
    name: 'on a side that comes before',
    ancestry: ancestry({ compute: [HOST], folder: [FAR], unreadAbove: { compute: [{ why: WHY }] } }),
  },
  {
    name: 'farther away, so that it does not matter',
    ancestry: ancestry({ compute: [FAR], unreadAbove: { compute: [{ why: WHY }] } }),
    zone: 'far',
    region: 'r',
  },
]

for (const row of UNREAD)
  t.test(`a tag counts unless a nearer one may be unread: ${row.name}`, async (t) => {
    const topology = resolveTopology(row.ancestry, CATEGORIES, true)
    t.equal(topology.zone, row.zone)
    t.equal(topology.region, row.region)
    t.equal(topology.awaitsTags, row.zone === undefined)
    if (row.zone === undefined)
      t.match(topology.condition, {
        reason: 'TagsUnreadable',
        message:
          /the zone is unknown: "far" on Datacenter "d" counts only .*not readable: HostSystem h: .*403/,
      })
  })

t.test('what could not be read of one category says nothing of the other', async (t) => {
  const folder = { ...ancestor('Folder', 'f'), unread: [{ why: WHY, category: 'k8s-zone' }] }
  const { condition, ...labels } = resolveTopology(
    ancestry({ compute: [ancestor('HostSystem', 'h', zone('near')), folder], unreadable: [WHY] }),
    CATEGORIES,
    false,
  )
  t.match(labels, { zone: 'near', region: undefined })
  t.match(condition, { reason: 'TagMissing', message: /^no tag of category "k8s-region" .*; attach a tag/ })
})

t.test('the labels of a Node stay while a nearer tag is unread, also with relabel', async (t) => {
  const { ancestry: whole, ...rest } = vm()
  const compute = whole?.compute.map((each) =>
    each.type === 'ClusterComputeResource'
      ? { ...each, tags: [], unread: [{ why: WHY }] }
      : { ...each, tags: [...each.tags, ...(each.type === 'Datacenter' ? zone('far') : [])] },
  )
  const away = { ...rest, ancestry: ancestry({ ...whole, compute: compute ?? [] }) }
  const facts = settled({ vms: [away] })
  const decision = decide({
    ...facts,
    settings: { ...facts.settings, topology: { required: true, onChange: 'relabel' } },
  })
  t.equal(decision.patch, undefined)
  t.match(
    decision.status?.conditions?.find(({ type }) => type === 'TopologyResolved'),
    { status: 'False', reason: 'TagsUnreadable', message: WHY },
  )
})

const NAMES: { name: string; alike?: readonly string[]; zone?: string; says?: RegExp }[] = [
  { name: 'zone-1', alike: ['zone 1'], zone: 'zone-1' },
  { name: 'zone 1', zone: 'zone-1' },
  {
    name: 'zone 1',
    alike: ['zone(1)', 'zone-1'],
    says: /the zone tag "zone 1" on Datacenter "d" gives no label: its label value would be zone-1, .* of "zone\(1\)", "zone-1"; .*: rename it; /,
  },
  {
    name: '北京-1',
    says: /"北京-1" .* without losing letters or digits; a label may have at most 63 of A-Z, .*: rename it; /,
  },
  { name: 'z'.repeat(64), says: /without losing letters or digits/ },
  { name: '', says: /"" on Datacenter "d" gives no label/ },
]

for (const { name, alike = [], zone: expected, says } of NAMES)
  t.test(`two zones never become one: ${name}${alike.length > 0 ? `, ${alike}` : ''}`, async (t) => {
    const tags = [{ category: 'k8s-zone', name, ...(alike.length > 0 ? { alike } : {}) }, ...region('r')]
    const topology = resolveTopology(
      ancestry({ compute: [ancestor('Datacenter', 'd', tags)] }),
      CATEGORIES,
      true,
    )
    t.equal(topology.zone, expected)
    t.equal(topology.awaitsTags, expected === undefined)
    if (says === undefined) t.equal(topology.condition.reason, 'Resolved')
    else t.match(topology.condition, { status: 'False', reason: 'TagMissing', message: says })
  })

t.test(
  'two zones never become one: while a tag that may be alike is not readable, there is no label',
  async (t) => {
    const why = 'tag t: HTTP status 403'
    const of = (name: string) => {
      const tags = [{ category: 'k8s-zone', name, unnamed: [why] }, ...region('r')]
      return resolveTopology(ancestry({ compute: [ancestor('Datacenter', 'd', tags)] }), CATEGORIES, true)
    }
    t.match(of('zone 1'), {
      zone: undefined,
      region: 'r',
      awaitsTags: true,
      condition: {
        status: 'False',
        reason: 'TagsUnreadable',
        message:
          /another tag .* may give the same label as "zone 1" on Datacenter "d"; not readable: tag t: .*403/,
      },
    })
    t.match(of('北京-1').condition, { reason: 'TagMissing', message: /without losing letters/ })
    t.equal(of('zone-1').zone, 'zone-1')
  },
)

t.test('of several tags on one object the first by name counts, or the one that the Node has', async (t) => {
  const compute = [ancestor('HostSystem', 'h', [...zone('b'), ...zone('a'), ...region('r')])]
  const of = (present?: string) =>
    resolveTopology(ancestry({ compute }), CATEGORIES, true, { zone: present, region: undefined })
  for (const [present, expected] of [
    [undefined, 'a'],
    ['b', 'b'],
    ['gone', 'a'],
  ] as const) {
    t.match(of(present), {
      zone: expected,
      awaitsTags: false,
      condition: {
        status: 'False',
        reason: 'TagsAmbiguous',
        message: `2 tags of category "k8s-zone" (zone) are on HostSystem "h": "a", "b"; ${expected} counts until only one is left; detach the others in vCenter`,
      },
    })
  }
})

t.test('two labels that lack a tag for different reasons: each has its next step', async (t) => {
  const said = (lack: TagLack, insists = false) =>
    resolveTopology(
      ancestry({ compute: [ancestor('Datacenter', 'd')], lacking: new Map([['k8s-zone', lack]]) }),
      CATEGORIES,
      insists,
    ).condition
  t.match(said('category'), { reason: 'TagMissing', message: /create it, correct "zone".*; attach a tag in/ })
  const unread = said({ unread: 'tag categories: 403' })
  t.match(unread, {
    reason: 'TagsUnreadable',
    message: /; attach a tag in .*; not readable: tag categories: 403$/,
  })
  t.match(said({ unread: 'tag categories: 403' }, true), {
    message:
      /; attach a tag in .*; not readable: tag categories: 403; topology.required .* until there is one and they are read: fix both in vCenter, or/,
  })
})

t.test('why there is no tag decides what is to be done', async (t) => {
  const said = (lack?: TagLack) => {
    const lacking = lack === undefined ? {} : { lacking: new Map([['k8s-zone', lack]]) }
    return resolveTopology(
      ancestry({ compute: [ancestor('Datacenter', 'd', region('r'))], ...lacking }),
      CATEGORIES,
      false,
    ).condition
  }
  t.match(said(), {
    reason: 'TagMissing',
    message: /; attach a tag in vCenter; the label follows by itself$/,
  })
  t.match(said('category'), { reason: 'TagMissing', message: /no such category: create it, correct "zone"/ })
  t.match(said('categories'), {
    reason: 'TagMissing',
    message: /no tag category at all: give the account Read-only as a/,
  })
  t.match(said('tags'), { reason: 'TagMissing', message: /no tag in this category: create one/ })
  const unread = { unread: 'tag categories: 403' }
  t.match(said(unread), { reason: 'TagsUnreadable', message: /; not readable: tag categories: 403$/ })
  for (const lack of ['categories', 'category', 'tags', unread] as const)
    t.notMatch(said(lack).message, 'attach a tag in')
})
