import t from 'tap'
import { boundVM, NODE_UID, node, report } from '../../../test/fixtures/facts.ts'
import { age } from '../../lib/format.ts'
import { suggestNode } from './explain-node.ts'

const nodes = [
  node({ addresses: [{ type: 'InternalIP', address: '10.0.0.5' }] }),
  node({ name: 'worker-2.example', uid: 'other' }),
]
const reports = (name: string) =>
  name === 'worker-1'
    ? report({ status: { nodeUID: NODE_UID, vm: boundVM({ name: 'vm-of-1' }) } })
    : undefined

for (const [word, said] of [
  ['wroker-1', ': did you mean worker-1?'],
  ['worker-2', ': did you mean worker-2.example?'],
  ['worker-1.example', ': did you mean worker-1?'],
  ['10.0.0.5', '; 10.0.0.5 is an address of Node worker-1'],
  ['vm-of-1', '; VM "vm-of-1" is Node worker-1'],
  ['something', '; "kubectl get nodes" lists them all'],
] as const)
  t.equal(suggestNode(word, nodes, reports), said, word)
t.equal(suggestNode('a', [], reports), '; there are no Nodes')

const now = Date.parse('2026-03-01T10:00:00Z')
for (const [time, said] of [
  ['2026-03-01T09:59:55Z', '5s'],
  ['2026-03-01T09:57:00Z', '3m'],
  ['2026-03-01T07:00:00Z', '3h'],
  ['2026-02-01T10:00:00Z', '28d'],
  ['2026-03-01T10:05:00Z', '0s'],
  ['', 'an unknown time'],
] as const)
  t.equal(age(time, now), said, time)
