import t from 'tap'
import type { NodeReportStatus } from '../../agent/shared/node-report.ts'
import { parseNodeReport } from './parse-node.ts'

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
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 200; i++) {
    const annotations = { 'rollcall.dev/reported-at': `${i}`.padEnd(256 * 1024, 'x') }
    kept.push(parseNodeReport(JSON.parse(JSON.stringify({ metadata: { ...metadata, annotations }, spec }))))
  }
  t.equal(kept.length, 200)
  const grown = process.memoryUsage().heapUsed - before
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
