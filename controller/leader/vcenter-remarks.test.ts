import t, { type Test } from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import type { DatacenterPath } from '../config/datacenter-pattern.ts'
import { createLogLines } from '../kubernetes/testing/log-lines.ts'
import type { VCenterFailure } from '../types/inventory.ts'
import type { TagLack } from '../types/virtual-machine.ts'
import { createVCenterRemarks, type VCenterRemarksOptions } from './vcenter-remarks.ts'

/** Remarks that run, and what they log. Without more there is no vCenter, and nothing to say. */
function setUp(t: Test, options: Partial<VCenterRemarksOptions>) {
  const clock = createHandClock()
  const { logger, lines } = createLogLines()
  const basics = { clock, random: () => 0.5, logger }
  const labels = { zone: undefined, region: undefined }
  const none = { vCenters: [], servers: {}, labels, labelRules: [], inventories: [] }
  const remarks = createVCenterRemarks({ ...none, ...basics, ...options })
  const ending = new AbortController()
  const running = remarks.run(ending.signal)
  t.teardown(async () => {
    ending.abort()
    await running
  })
  return { clock, lines, remarks }
}

type Seen = VCenterRemarksOptions['inventories'][number]

/** A vCenter of which nothing is known but this. */
function inventory(vCenter: string, known: Partial<Seen> = {}): Seen {
  return {
    vCenter,
    instanceUUID: () => '',
    datacenters: () => undefined,
    lackingCategories: () => new Map(),
    unsteady: () => undefined,
    ...known,
  }
}

t.test(
  'names, globs and references that mean no datacenter are told once, and again when others do',
  async (t) => {
    const datacenters = [
      'DC1',
      'prod-*',
      '/europe/DC*',
      'Datacenter:datacenter-3',
      'typo',
      'test-*',
      '/asia/*',
      'Datacenter:datacenter-9',
    ]
    let seen: readonly DatacenterPath[] | undefined
    const { clock, lines, remarks } = setUp(t, {
      vCenters: [
        { name: 'main', datacenters },
        { name: 'all', datacenters: [] },
      ],
      inventories: [
        inventory('main', { datacenters: () => seen }),
        inventory('all', { datacenters: () => [] }),
      ],
    })
    await clock.turn(2_000)
    t.same(lines, [], 'nothing is known before vCenter has answered')
    t.same(remarks.troubles(), [])
    seen = [
      { moref: 'datacenter-1', path: ['DC1'] },
      { moref: 'datacenter-2', path: ['prod-1'] },
      { moref: 'datacenter-3', path: ['europe', 'DC2'] },
    ]
    await clock.turn(2_000)
    await clock.turn(2_000)
    t.match(lines, [
      { level: 40, vCenter: 'main', datacenters: ['typo', 'test-*', '/asia/*', 'Datacenter:datacenter-9'] },
    ])
    t.equal(lines.length, 1)
    t.match(remarks.troubles(), [
      {
        text: /^vCenter main: 4 of 8 datacenters .* the log names them$/,
        message:
          /^vCenter main: no .* see \(\/DC1, \/prod-1, \/europe\/DC2\) fits typo, test-\*, \/asia.*; correct the names, or/,
      },
    ])
    seen = [...seen, { moref: 'datacenter-9', path: ['test-1'] }]
    await clock.turn(2_000)
    t.match(lines.at(-1)?.datacenters, ['typo', '/asia/*'])
  },
)

t.test('servers that say they are one vCenter are told once, both by name', async (t) => {
  const ids = new Map<string, string>()
  const { clock, lines, remarks } = setUp(t, {
    servers: { main: 'a 443', tenant: 'a 443', other: 'b 443', third: 'c 443' },
    inventories: ['main', 'tenant', 'other', 'third'].map((vCenter) =>
      inventory(vCenter, { instanceUUID: () => ids.get(vCenter) ?? '' }),
    ),
  })
  await clock.turn(2_000)
  t.same(lines, [], 'nothing is known yet')
  for (const name of ['main', 'tenant']) ids.set(name, 'one')
  ids.set('third', 'three')
  await clock.turn(2_000)
  t.same(lines, [], 'two accounts of one server')
  ids.set('other', 'one')
  await clock.turn(2_000)
  await clock.turn(2_000)
  t.match(lines, [{ level: 40, vCenters: ['main', 'tenant', 'other'] }])
  t.equal(lines.length, 1)
  t.match(remarks.troubles(), [
    {
      text: /^vCenters main, tenant, other report the same instance UUID/,
      message: /^vCenters main, tenant, other on several servers .*; remove the clone from the configuration/,
    },
  ])
})

t.test('a category without tags is reported by its setting', async (t) => {
  let lacking: ReadonlyMap<string, TagLack> = new Map()
  const { clock, lines, remarks } = setUp(t, {
    labels: { zone: 'k8s-zonk', region: 'k8s-region' },
    labelRules: [
      {
        label: 'example.com/rack',
        from: { kind: 'tagCategory', name: 'rack\u0007' },
        map: new Map(),
        when: 'live',
      },
      {
        label: 'example.com/owner',
        from: { kind: 'attribute', name: 'Owner' },
        map: new Map(),
        when: 'live',
      },
    ],
    inventories: [inventory('main', { lackingCategories: () => lacking })],
  })
  await clock.turn(2_000)
  t.same(remarks.troubles(), [])
  lacking = new Map([['k8s-zonk', 'category']])
  await clock.turn(4_000)
  t.match(lines, [
    {
      level: 40,
      vCenter: 'main',
      setting: 'labels.zone',
      category: 'k8s-zonk',
      msg: /^vCenter main: labels.zone names tag category "k8s-zonk", which vCenter does not show/,
    },
  ])
  t.equal(lines.length, 1)
  const said =
    'vCenter main: labels.zone names tag category "k8s-zonk", which vCenter does not show, so no new Node gets a zone; create it, correct the name, or give the account Read-only as a global permission'
  t.match(remarks.troubles(), [{ text: said, message: said }])
  lacking = new Map([
    ['k8s-zonk', 'categories'],
    ['k8s-region', 'categories'],
  ])
  t.match(remarks.troubles(), [
    { text: /labels.zone .* none at all/ },
    { text: /labels.region .* none at all/ },
  ])
  lacking = new Map<string, TagLack>([
    ['k8s-zonk', { unread: 'tag categories: 403' }],
    ['rack\u0007', 'tags'],
  ])
  t.match(remarks.troubles(), [
    { text: /labels.zone .* shows no tag among what could be read, so no new Node gets a zone/ },
    {
      text: /labelRules names tag category "rack\ufffd", of which .* no tag, so no new Node gets example.com\/rack;/,
    },
  ])
})

t.test('a vCenter that fails again and again is told once, although it answers', async (t) => {
  let failure: VCenterFailure | undefined
  const { clock, lines, remarks } = setUp(t, {
    inventories: [inventory('main', { unsteady: () => failure })],
  })
  await clock.turn(2_000)
  t.same(remarks.troubles(), [])
  failure = {
    vCenter: 'main',
    reason: 'UnexpectedFault',
    message: 'vCenter answers with the fault SystemError',
  }
  await clock.turn(4_000)
  t.match(lines, [{ level: 40, vCenter: 'main', reason: 'UnexpectedFault' }])
  t.equal(lines.length, 1)
  t.match(remarks.troubles(), [
    {
      text: /^vCenter main answers, but its connection fails again and again \(UnexpectedFault\), .*; see the log$/,
      message: /seen late: vCenter answers with the fault SystemError$/,
    },
  ])
  const [{ key } = { key: '' }] = remarks.troubles()
  failure = { vCenter: 'main', reason: 'Unreachable', message: 'the connection was reset' }
  await clock.turn(4_000)
  t.match(remarks.troubles(), [{ key, text: /\(Unreachable\)/ }], 'another failure is the same trouble')
  t.equal(lines.length, 1)
})
