import t from 'tap'
import { unreadable } from './facts/files.ts'
import { buildReport, type MachineFacts } from './report.ts'
import { reportObject } from './send-report.ts'
import { MAX_REPORT_BYTES, type NetworkInterface, parseSpec } from './shared/node-report.ts'
import { ok } from './shared/result.ts'

const UUID = '420e3f74-ea84-f9a2-7736-6106bb5dbf6b'

const FACTS: MachineFacts = {
  nodeUID: UUID,
  agentVersion: '0.1.0',
  refresh: 180_000,
  bootID: ok(UUID),
  hostname: ok('n1'),
  machine: {
    vendor: ok('VMware, Inc.'),
    product: ok('VMware7,1'),
    serialUUID: ok(UUID),
    productUUID: ok(UUID),
  },
  interfaces: ok([nic(0, 1)]),
  addresses: ok({}),
  unplaced: [],
  routes: ok(undefined),
  toolsVersion: '12.3.5',
  guestinfo: ok(undefined),
  cloudInit: ok({ instanceID: 'i', addresses: ['10.0.0.5/24'] }),
  claim: { written: true, reason: 'Written', message: 'the claim stands' },
}

function nic(i: number, addresses: number): NetworkInterface {
  return {
    name: `eth${i}`,
    mac: `00:50:56:8e:3f:${(i % 256).toString(16).padStart(2, '0')}`,
    defaultRoute: i === 0,
    addresses: Array.from({ length: addresses }, (_, j) => ({
      address: `2001:db8:1111:2222:3333:4444:${i.toString(16)}:${(j + 1).toString(16)}`,
      prefixLength: 64,
      ...(j > 0 ? { temporary: true, deprecated: true } : {}),
    })),
  }
}

t.test('a whole report', (t) => {
  const spec = buildReport(FACTS)
  t.same(spec, {
    nodeUID: UUID,
    bootID: UUID,
    agentVersion: '0.1.0',
    machine: { vendor: 'VMware, Inc.', product: 'VMware7,1', serialUUID: UUID, productUUID: UUID },
    hostname: 'n1',
    interfaces: [nic(0, 1)],
    tools: { version: '12.3.5', guestinfoReadable: true, guestinfoWritable: true },
    cloudInit: { instanceID: 'i', addresses: ['10.0.0.5/24'] },
    claim: { written: true, reason: 'Written', message: 'the claim stands' },
  })
  t.same(parseSpec(spec), { ok: true, value: spec })
  t.equal(JSON.stringify(buildReport({ ...FACTS })), JSON.stringify(spec), 'equal facts give equal bytes')
  t.end()
})

t.test('the time between two reports is said where it is longer than usual', (t) => {
  for (const [refresh, said] of [
    [60_000, undefined],
    [180_500, 181],
    [86_400_000, 86_400],
  ] as const) {
    const spec = buildReport({ ...FACTS, refresh })
    t.equal(spec.refreshSeconds, said)
    t.ok(parseSpec(spec).ok)
  }
  t.notOk(parseSpec({ ...buildReport(FACTS), refreshSeconds: 86_401 }).ok, 'a limit to what silence may be')
  t.end()
})

t.test('each unreadable fact is said, and the rest goes on', (t) => {
  const broken = unreadable('Failed', 'it’s broken\n')
  const said = { reason: 'Failed', message: 'it?s broken?' }
  for (const [fact, facts, missing] of [
    ['bootID', { bootID: broken }, 'bootID'],
    ['hostname', { hostname: broken }, 'hostname'],
    ['machine.vendor', { machine: { ...FACTS.machine, vendor: broken } }, undefined],
    ['machine.product', { machine: { ...FACTS.machine, product: broken } }, undefined],
    ['machine.serialUUID', { machine: { ...FACTS.machine, serialUUID: broken } }, undefined],
    ['machine.productUUID', { machine: { ...FACTS.machine, productUUID: broken } }, undefined],
    ['interfaces', { interfaces: broken }, undefined],
    ['addresses', { addresses: broken }, undefined],
    ['routes', { routes: broken }, undefined],
    ['guestinfo', { guestinfo: broken }, undefined],
    ['cloudInit', { cloudInit: broken }, 'cloudInit'],
  ] as const) {
    const spec = buildReport({ ...FACTS, ...facts })
    t.same(spec.unreadable, [{ fact, ...said }], fact)
    t.match(parseSpec(spec), { ok: true }, 'is a report all the same')
    if (missing !== undefined) t.notOk(missing in spec)
  }
  t.end()
})

t.test('a report always fits', (t) => {
  const nodeName = 'n'.repeat(253)
  const long = 'x'.repeat(300)
  const everything = unreadable('Failed', long)
  for (const [name, facts] of [
    ['many addresses', { interfaces: ok([nic(0, 200), nic(1, 3)]) }],
    ['many interfaces', { interfaces: ok(Array.from({ length: 100 }, (_, i) => nic(i, 1))) }],
    ['many of both', { interfaces: ok(Array.from({ length: 100 }, (_, i) => nic(i, 100))) }],
    [
      'everything unreadable',
      {
        bootID: everything,
        hostname: everything,
        machine: { vendor: everything, product: everything, serialUUID: everything, productUUID: everything },
        addresses: everything,
        routes: everything,
        guestinfo: everything,
        cloudInit: everything,
        interfaces: ok(Array.from({ length: 16 }, (_, i) => nic(i, 16))),
        claim: { written: false, reason: 'Failed', message: long },
      },
    ],
    [
      'long texts',
      {
        hostname: ok('x'.repeat(253)),
        interfaces: ok([nic(0, 16)]),
        cloudInit: ok({
          instanceID: 'x'.repeat(128),
          localHostname: 'x'.repeat(253),
          addresses: Array.from({ length: 100 }, (_, i) => `2001:db8:1111:2222:3333:4444:5555:${i}/64`),
        }),
      },
    ],
  ] as [string, Partial<MachineFacts>][]) {
    const spec = buildReport({ ...FACTS, ...facts })
    const bytes = Buffer.byteLength(
      JSON.stringify(reportObject({ nodeName, nodeUID: UUID }, spec, '2026-11-21T09:30:00Z')),
    )
    t.ok(bytes <= MAX_REPORT_BYTES, `${name}: ${bytes} bytes`)
    t.ok(bytes > MAX_REPORT_BYTES / 2 || name === 'long texts', 'no more is cut than must be')
    t.match(parseSpec(spec), { ok: true })
    t.equal(
      spec.interfaces[0]?.addresses[0]?.address,
      nic(0, 1).addresses[0]?.address,
      'the first address stays',
    )
  }
  const cut = buildReport({ ...FACTS, interfaces: ok(Array.from({ length: 100 }, (_, i) => nic(i, 1))) })
  t.match(cut.unreadable, [{ fact: 'interfaces', reason: 'TooMany', message: /of 100 interfaces/ }])
  t.end()
})
