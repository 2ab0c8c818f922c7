import t from 'tap'
import type { ObservedNode } from '../view.ts'
import { differences } from './differences.ts'

const node: ObservedNode = {
  metadata: { name: 'n', labels: { zone: 'a', 'other/label': 'x' }, resourceVersion: '1', managedFields: [] },
  spec: { providerID: 'vsphere://1', taints: [{ key: 'k', effect: 'NoSchedule' }] },
  status: {
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    conditions: [{ type: 'Ready' }, { type: 'DiskPressure' }],
  },
}

t.test('what every write changes, and Ready, is not looked at', (t) => {
  const ready = { type: 'Ready', status: 'Unknown', lastHeartbeatTime: 'later' }
  const later: ObservedNode = {
    ...node,
    metadata: { ...node.metadata, resourceVersion: '2', managedFields: [{ manager: 'm' }] },
    status: { ...node.status, conditions: [ready, { type: 'DiskPressure' }] },
  }
  t.same(differences(node, later), [])
  t.end()
})

t.test('each difference by its path', (t) => {
  const { metadata, spec, status } = node
  const cases: [ObservedNode, string[]][] = [
    [
      { ...node, metadata: { ...metadata, labels: { zone: 'b', 'other/label': 'x' } } },
      ['metadata.labels.zone'],
    ],
    [{ ...node, metadata: { ...metadata, labels: { zone: 'a' } } }, ['metadata.labels.other/label']],
    [{ ...node, metadata: { ...metadata, labels: { 'other/label': 'x', zone: 'a' } } }, ['metadata.labels']],
    [{ ...node, spec: { ...spec, taints: [] } }, ['spec.taints']],
    [{ ...node, spec: { taints: spec.taints ?? [] } }, ['spec.providerID']],
    [{ ...node, status: { ...status, addresses: [] } }, ['status.addresses']],
    [{ ...node, status: { ...status, conditions: [{ type: 'Ready' }] } }, ['status.conditions']],
    [
      { ...node, metadata: { name: 'm' }, spec: {} },
      ['spec.providerID', 'spec.taints', 'metadata.name', 'metadata.labels'],
    ],
  ]
  for (const [after, paths] of cases) t.same(differences(node, after), paths)
  t.end()
})
