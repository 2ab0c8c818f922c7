import t from 'tap'
import type { NodeReportStatus } from '../../agent/contract.ts'
import { parseNodeReport } from './parse-node-report.ts'

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
const found = {
  type: 'VMFound',
  status: 'True',
  reason: 'Found',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const
const status: NodeReportStatus = {
  observedGeneration: 3,
  vm: { ...vm, host: 'esx-1' },
  identityLevel: 'reported',
  topology: { zone: 'z' },
  instanceType: 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
  addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
  conditions: [found],
}

t.test('a whole report', async (t) => {
  t.strictSame(parseNodeReport({ metadata: { ...metadata, managedFields: [] }, spec, status }), {
    ...metadata,
    spec: { ok: true, spec },
    status,
  })
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
