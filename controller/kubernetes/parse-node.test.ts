import t from 'tap'
import type { Node } from '../types/node.ts'
import { parseNode } from './parse-node.ts'

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

t.test('takes what is needed and nothing else', async (t) => {
  t.strictSame(parseNode(whole), {
    name: 'worker-1',
    uid: '8c6e6b2c-8e58-4a1c-9d66-0d8f2f6f3a10',
    resourceVersion: '42',
    creationTimestamp: '2026-01-01T00:00:00Z',
    deleting: false,
    deletingSince: undefined,
    finalizers: [],
    labels: { 'kubernetes.io/os': 'linux' },
    labelCount: 1,
    providedNodeIP: '10.0.0.1',
    hasCSIDriver: true,
    taints: [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b', effect: 'NoExecute', value: 'x', timeAdded: '2026-01-01T00:00:00Z' },
    ],
    providerID: 'vsphere://42',
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    systemUUID: '4227E4B2',
    ready: {
      status: 'True',
      lastHeartbeatTime: '2026-01-01T00:05:01Z',
      lastTransitionTime: '2026-01-01T00:00:09Z',
    },
    deletionAnnotation: 'hold',
    vmAnnotation: undefined,
  })
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

const { name, uid, resourceVersion, creationTimestamp } = whole.metadata
const bare = { name, uid, resourceVersion, creationTimestamp }

for (const [what, node] of Object.entries({
  'a Node that has only metadata': { metadata: bare },
  'nulls for empty lists and maps': {
    metadata: { ...bare, labels: null, annotations: null, deletionTimestamp: null },
    spec: { taints: null },
    status: { addresses: null, conditions: null, nodeInfo: null },
  },
})) {
  t.test(what, async (t) => {
    t.strictSame(parseNode(node), {
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
    })
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
