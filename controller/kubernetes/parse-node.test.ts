import t from 'tap'
import { parseNode } from './parse-node.ts'

const whole = {
  kind: 'Node',
  metadata: {
    name: 'worker-1',
    uid: '8c6e6b2c-8e58-4a1c-9d66-0d8f2f6f3a10',
    resourceVersion: '42',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'kubernetes.io/os': 'linux' },
    annotations: { 'alpha.kubernetes.io/provided-node-ip': '10.0.0.1', other: 'x' },
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
    labels: { 'kubernetes.io/os': 'linux' },
    providedNodeIP: '10.0.0.1',
    taints: [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b', effect: 'NoExecute', value: 'x', timeAdded: '2026-01-01T00:00:00Z' },
    ],
    providerID: 'vsphere://42',
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    systemUUID: '4227E4B2',
  })
})

const { name, uid, resourceVersion, creationTimestamp } = whole.metadata
const bare = { name, uid, resourceVersion, creationTimestamp }

for (const [what, node] of Object.entries({
  'a Node that has only metadata': { metadata: bare },
  'nulls for empty lists and maps': {
    metadata: { ...bare, labels: null, annotations: null, deletionTimestamp: null },
    spec: { taints: null },
    status: { addresses: null, nodeInfo: null },
  },
})) {
  t.test(what, async (t) => {
    t.strictSame(parseNode(node), {
      ...bare,
      deleting: false,
      labels: {},
      providedNodeIP: undefined,
      taints: [],
      providerID: undefined,
      addresses: [],
      systemUUID: '',
    })
  })
}

t.test('a Node that is being deleted', async (t) => {
  t.equal(parseNode({ metadata: { ...bare, deletionTimestamp: '2026-01-01T00:00:00Z' } })?.deleting, true)
})

t.test('no Node', async (t) => {
  for (const value of [undefined, null, 'x', [], {}, { metadata: {} }, { metadata: { ...bare, name: '' } }]) {
    t.equal(parseNode(value), undefined)
  }
  t.equal(parseNode({ metadata: { ...bare, labels: 'x' } }), undefined)
  t.equal(parseNode({ metadata: bare, spec: { taints: [{ key: 1 }] } }), undefined)
})
