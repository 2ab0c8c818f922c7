import t from 'tap'
import type { NodeReportStatus } from '../../agent/shared/node-report.ts'
import { heldBytes } from '../../test/fixtures/heap.ts'
import type { Node } from '../types/node.ts'
import { parseNode, parseNodeReport } from './parse-node.ts'

const whole = {
  kind: 'Node',
  metadata: {
    name: 'worker-1',
    uid: '8c6e6b2c-8e58-4a1c-9d66-0d8f2f6f3a10',
    resourceVersion: '42',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'kubernetes.io/os': 'linux' },
    annotations: {
      'alpha.kubernetes.io/provided-node-ip': '10.0.0.1',
      'rollcall.dev/deletion': 'hold',
      'csi.volume.kubernetes.io/nodeid': '{"csi.vsphere.vmware.com":"420e3f74"}',
      other: 'x',
    },
    managedFields: [{ manager: 'kubelet' }],
  },
  spec: {
    providerID: 'vsphere://42',
    podCIDR: '10.244.0.0/24',
    taints: [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b', effect: 'NoExecute', value: 'x', timeAdded: '2026-01-01T00:00:00Z' },
    ],
  },
  status: {
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    conditions: [
      { type: 'MemoryPressure', status: 'False', lastHeartbeatTime: '2026-01-01T00:05:00Z' },
      {
        type: 'Ready',
        status: 'True',
        lastHeartbeatTime: '2026-01-01T00:05:01Z',
        lastTransitionTime: '2026-01-01T00:00:09Z',
        reason: 'KubeletReady',
      },
    ],
    images: [{ names: ['huge'] }],
    nodeInfo: { systemUUID: '4227E4B2', kernelVersion: '6.1' },
  },
}

const { name, uid, resourceVersion, creationTimestamp } = whole.metadata
const bare = { name, uid, resourceVersion, creationTimestamp }
const nothing = {
  ...bare,
  deleting: false,
  deletingSince: undefined,
  finalizers: [],
  labels: {},
  labelCount: 0,
  providedNodeIP: undefined,
  hasCSIDriver: false,
  taints: [],
  providerID: undefined,
  addresses: [],
  systemUUID: '',
  ready: undefined,
  deletionAnnotation: undefined,
  vmAnnotation: undefined,
  labelRecord: undefined,
  hasAnnotations: false,
}

t.test('takes what is needed and nothing else', async (t) => {
  t.strictSame(parseNode(whole), {
    ...nothing,
    labels: { 'kubernetes.io/os': 'linux' },
    labelCount: 1,
    providedNodeIP: '10.0.0.1',
    hasCSIDriver: true,
    taints: whole.spec.taints,
    providerID: 'vsphere://42',
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    systemUUID: '4227E4B2',
    ready: {
      status: 'True',
      lastHeartbeatTime: '2026-01-01T00:05:01Z',
      lastTransitionTime: '2026-01-01T00:00:09Z',
    },
    deletionAnnotation: 'hold',
    hasAnnotations: true,
  })
})

t.test('the record of labels, unless it is longer than any that is ours', async (t) => {
  const recorded = (text: string) =>
    parseNode({ metadata: { ...bare, annotations: { 'rollcall.dev/labels': text } } })?.labelRecord
  t.equal(recorded('a=1,b='), 'a=1,b=')
  t.equal(recorded('a'.repeat(4_097)), undefined)
})

t.test('of a thousand addresses the first hundred', async (t) => {
  const addresses = Array.from({ length: 1_000 }, (_, i) => ({ type: 'InternalIP', address: `10.0.${i}.1` }))
  const { addresses: kept } = parseNode({ metadata: whole.metadata, status: { addresses } }) ?? {}
  t.same(kept, addresses.slice(0, 100))
})

t.test('of the labels only those that are read, and their number', async (t) => {
  const labels = { 'kubernetes.io/os': 'linux', mine: 'y' }
  const node = { ...whole, metadata: { ...whole.metadata, labels } }
  const read = new Set(['mine', 'absent', 'toString'])
  t.match(parseNode(node, read), { labels: { mine: 'y' }, labelCount: 2 })
  t.same(Object.keys(parseNode(node, read)?.labels ?? {}), ['mine'])
})

for (const [what, node] of Object.entries({
  'a Node that has only metadata': { metadata: bare },
  'nulls for empty lists and maps': {
    metadata: { ...bare, labels: null, annotations: null, deletionTimestamp: null },
    spec: { taints: null },
    status: { addresses: null, conditions: null, nodeInfo: null },
  },
})) {
  t.test(what, async (t) => {
    t.strictSame(parseNode(node), nothing)
  })
}

const huge = 'x'.repeat(256 * 1024)
const beat = '2026-01-01T00:05:00Z'
const conditions: [string, unknown[], Node['ready']][] = [
  ['none', [], undefined],
  [
    'none of that type',
    [
      { type: 'ready', status: 'True' },
      { type: '', status: '' },
    ],
    undefined,
  ],
  ['never a heartbeat', [{ type: 'Ready', status: 'Unknown' }], { status: 'Unknown', lastHeartbeatTime: '' }],
  [
    'a heartbeat of null',
    [{ type: 'Ready', status: 'True', lastHeartbeatTime: null }],
    { status: 'True', lastHeartbeatTime: '' },
  ],
  [
    'two of one type: the first, as kubectl',
    [
      { type: 'Ready', status: 'False', lastHeartbeatTime: beat },
      { type: 'Ready', status: 'True', lastHeartbeatTime: beat },
    ],
    { status: 'False', lastHeartbeatTime: beat },
  ],
  [
    'a status that is no word and a heartbeat that is no time',
    [{ type: 'Ready', status: huge, lastHeartbeatTime: huge }],
    { status: 'x'.repeat(40), lastHeartbeatTime: 'x'.repeat(40) },
  ],
  [
    '10,000 others before it',
    [
      ...Array.from({ length: 10_000 }, (_, index) => ({ type: `T${index}`, status: 'True' })),
      { type: 'Ready', status: 'True', lastHeartbeatTime: beat },
    ],
    { status: 'True', lastHeartbeatTime: beat },
  ],
]
for (const [what, given, expected] of conditions) {
  t.test(`readiness: ${what}`, async (t) => {
    const { ready } = parseNode({ metadata: bare, status: { conditions: given } }) ?? {}
    t.strictSame(ready, expected && { ...expected, lastTransitionTime: '' })
  })
}

const wishes: [string, string][] = [
  ['hold', 'hold'],
  ['proceed', 'proceed'],
  ['', ''],
  ['Hold ', 'Hold '],
  ['proceed'.padEnd(256 * 1024), 'proceed'.padEnd(40)],
  [`hold${huge}`, `hold${'x'.repeat(36)}`],
  ['\u{1f6d1}'.repeat(1000), '\u{1f6d1}'.repeat(20)],
]
for (const [given, expected] of wishes) {
  t.test(`the wish ${JSON.stringify(given.slice(0, 9))} of ${given.length} characters`, async (t) => {
    const metadata = { ...bare, annotations: { 'rollcall.dev/deletion': given } }
    t.equal(parseNode({ metadata })?.deletionAnnotation, expected, 'no other wish than was written')
  })
}

t.test('a Node that is being deleted', async (t) => {
  const finalizers = ['controller.cattle.io/node', 'a\u{202e}b', ...Array(20).fill('x'.repeat(300))]
  const deletionTimestamp = '2026-01-01T00:00:00Z'
  t.match(parseNode({ metadata: { ...bare, deletionTimestamp, finalizers: null } }), {
    deleting: true,
    deletingSince: deletionTimestamp,
    finalizers: [],
  })
  const kept = parseNode({ metadata: { ...bare, deletionTimestamp, finalizers } })?.finalizers ?? []
  t.same(kept.slice(0, 2), ['controller.cattle.io/node', 'a\u{fffd}b'])
  t.equal(kept.length, 5)
  t.ok(kept.every((name) => name.length <= 80))
  t.same(parseNode({ metadata: { ...bare, finalizers } })?.finalizers, [], 'none waits for them')
})

t.test('no Node', async (t) => {
  for (const value of [undefined, null, 'x', [], {}, { metadata: {} }, { metadata: { ...bare, name: '' } }]) {
    t.equal(parseNode(value), undefined)
  }
  t.equal(parseNode({ metadata: { ...bare, labels: 'x' } }), undefined)
  t.equal(parseNode({ metadata: bare, spec: { taints: [{ key: 1 }] } }), undefined)
  t.equal(parseNode({ metadata: { ...bare, annotations: { 'rollcall.dev/deletion': true } } }), undefined)
  for (const odd of ['Ready', null, [], { type: 'Ready' }, { status: 'True' }, { type: 1, status: 'True' }])
    t.equal(parseNode({ metadata: bare, status: { conditions: [odd] } }), undefined, JSON.stringify(odd))
  for (const lastHeartbeatTime of [0, {}, true]) {
    const odd = [{ type: 'Ready', status: 'True', lastHeartbeatTime }]
    t.equal(parseNode({ metadata: bare, status: { conditions: odd } }), undefined)
  }
  t.equal(parseNode({ metadata: bare, status: { conditions: {} } }), undefined)
})

const metadata = { name: 'worker-1', uid: 'u', resourceVersion: '7', generation: 3 }
const spec = {
  nodeUID: '8c6e6b2c-8e58-4a1c-9d66-0d8f2f6f3a10',
  agentVersion: '0.1.0',
  machine: {},
  interfaces: [],
  tools: { guestinfoReadable: false, guestinfoWritable: false },
  claim: { written: false, reason: 'ToolMissing', message: '' },
}
const vm = {
  vCenter: 'a',
  vCenterInstanceUUID: 'b',
  moref: 'vm-1',
  name: 'worker-1',
  instanceUUID: 'c',
  biosUUID: 'd',
}
const parent = { type: 'Folder', moref: 'group-v3', name: 'vm' }
const found = {
  type: 'VMFound',
  status: 'True',
  reason: 'Found',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const
const status: NodeReportStatus = {
  observedGeneration: 3,
  vm: {
    ...vm,
    host: 'esx-1',
    parents: [
      { type: 'Folder', moref: 'group-v3', name: 'vm' },
      { type: 'ResourcePool', moref: 'resgroup-8', name: 'Resources' },
    ],
  },
  identityLevel: 'reported',
  brakeEngagedAt: '2026-01-01T00:10:00Z',
  topology: { zone: 'z' },
  instanceType: 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
  addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
  conditions: [found],
}

t.test('a whole report', async (t) => {
  const annotations = { 'rollcall.dev/reported-at': '2026-01-01T00:00:00Z', other: 'x' }
  t.strictSame(parseNodeReport({ metadata: { ...metadata, annotations, managedFields: [] }, spec, status }), {
    ...metadata,
    reportedAt: '2026-01-01T00:00:00Z',
    spec: { ok: true, value: spec },
    status,
  })
})

const signs: [string, object | null | undefined, string | undefined][] = [
  ['no annotations', undefined, undefined],
  ['null', null, undefined],
  ['others alone', { 'rollcall.dev/Reported-At': 'x' }, undefined],
  ['an empty one', { 'rollcall.dev/reported-at': '' }, ''],
  ['no time', { 'rollcall.dev/reported-at': 'soon' }, 'soon'],
  ['256 KiB', { 'rollcall.dev/reported-at': 'x'.repeat(256 * 1024) }, 'x'.repeat(40)],
]
for (const [what, annotations, expected] of signs) {
  t.test(`life sign: ${what}`, async (t) => {
    t.equal(parseNodeReport({ metadata: { ...metadata, annotations }, spec })?.reportedAt, expected)
  })
}

t.test('a long text is copied, not held by its first characters', async (t) => {
  const kept: unknown[] = []
  const before = heldBytes()
  for (let i = 0; i < 200; i++) {
    const annotations = { 'rollcall.dev/reported-at': `${i}`.padEnd(256 * 1024, 'x') }
    kept.push(parseNodeReport(JSON.parse(JSON.stringify({ metadata: { ...metadata, annotations }, spec }))))
  }
  t.equal(kept.length, 200)
  const grown = heldBytes() - before
  t.ok(grown < 25 << 20, `200 reports with 256 KiB each: ${Math.round(grown / 1024)} KiB more`)
})

t.test('a wrong spec is told by field', async (t) => {
  const report = parseNodeReport({ metadata, spec: { ...spec, nodeUID: 'x' } })
  t.equal(report?.spec.ok, false)
  t.match(report?.spec, { problems: [/^spec\.nodeUID: /] })
  t.equal(parseNodeReport({ metadata })?.spec.ok, false, 'none at all')
})

const corrupt: [string, unknown, NodeReportStatus][] = [
  ['no status', undefined, {}],
  ['null', null, {}],
  ['a text', 'x', {}],
  ['a list', [], {}],
  ['every field wrong', { vm: 1, identityLevel: 'x', topology: 'x', addresses: {}, conditions: 'x' }, {}],
  ['a VM that lacks a field', { ...status, vm: { ...vm, moref: undefined } }, without(status, 'vm')],
  [
    'a binding with more parents than it may have',
    { ...status, vm: { ...vm, parents: Array.from({ length: 17 }, () => parent) } },
    without(status, 'vm'),
  ],
  [
    'a parent without a reference',
    { ...status, vm: { ...vm, parents: [{ type: 'Folder', name: 'vm' }] } },
    without(status, 'vm'),
  ],
  ['parents that are no list', { ...status, vm: { ...vm, parents: parent } }, without(status, 'vm')],
  ['a brake that is no time', { ...status, brakeEngagedAt: 'yesterday' }, without(status, 'brakeEngagedAt')],
  ['a brake that is a number', { ...status, brakeEngagedAt: 1 }, without(status, 'brakeEngagedAt')],
  ['a level from another version', { ...status, identityLevel: 'sworn' }, without(status, 'identityLevel')],
  [
    'a condition from another version',
    { ...status, conditions: [{ ...found, type: 'Blessed' }, 'x', found] },
    status,
  ],
]
for (const [what, given, expected] of corrupt) {
  t.test(`status: ${what}`, async (t) => {
    t.strictSame(parseNodeReport({ metadata, spec, status: given })?.status, expected)
  })
}

t.test('no report', async (t) => {
  for (const value of [undefined, null, 'x', [], {}, { metadata: {} }])
    t.equal(parseNodeReport(value), undefined)
})

function without(of: NodeReportStatus, name: keyof NodeReportStatus): NodeReportStatus {
  const { [name]: _, ...rest } = of
  return rest
}
