import t from 'tap'
import {
  BIOS_UUID,
  boundVM,
  NODE_UID,
  node,
  report,
  SETTINGS,
  SWAPPED_UUID,
  spec,
} from '../../../../test/fixtures/facts.ts'
import { createNodeIndex } from './node-index.ts'

t.test('Nodes are found by what they report and by what they are', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  index.node('worker-1', node())
  t.same(index.namesByUUID(BIOS_UUID), ['worker-1'], 'by the word of its kubelet')
  t.equal(index.nodeByUID(NODE_UID)?.name, 'worker-1')

  index.report('worker-1', report())
  const settled = node({ providerID: `vsphere://${BIOS_UUID.toUpperCase()}` })
  index.node('worker-1', settled)
  t.same(index.namesByUUID(BIOS_UUID), ['worker-1'], 'once, although by both')

  const moved = report({ spec: { ok: true, value: spec({ machine: { serialUUID: NODE_UID } }) } })
  index.report('worker-1', moved)
  t.same(index.namesByUUID(NODE_UID), ['worker-1'])
  t.same(index.namesByUUID(BIOS_UUID), ['worker-1'], 'its provider ID still says so')

  index.node('worker-1', undefined)
  index.report('worker-1', undefined)
  t.same(index.namesByUUID(BIOS_UUID), [])
  t.same(index.namesByUUID(NODE_UID), [])
  t.equal(index.nodeByUID(NODE_UID), undefined)
})

t.test('what is entered again as it was is kept once', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  index.node('worker-1', node())
  const addresses = index.addressesOf('worker-1')
  index.node('worker-1', node({ resourceVersion: '2' }))
  t.equal(index.addressesOf('worker-1'), addresses)
})

t.test('a Node registered anew under its name is another one', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  index.node('worker-1', node())
  index.node('worker-1', node({ uid: 'new' }))
  t.equal(index.nodeByUID(NODE_UID), undefined)
  t.equal(index.nodeByUID('new')?.name, 'worker-1')
})

t.test('a provider ID in the in-tree provider’s byte order points to the same VM', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  index.node('old', node({ name: 'old', providerID: `vsphere://${SWAPPED_UUID}` }))
  t.same(index.namesByUUID(BIOS_UUID), ['old'])
})

t.test(
  'a Node that may do without an agent is looked for by its system UUID in both byte orders',
  async (t) => {
    const index = createNodeIndex({ require: 'asserted', exempt: undefined, requireAllVCenters: true })
    index.node('worker-1', node())
    t.same([...index.uuidsOf('worker-1')].sort(), [BIOS_UUID, SWAPPED_UUID])
    t.same(index.namesByUUID(BIOS_UUID), ['worker-1'])
    const { unused } = index.report('worker-1', report())
    t.same(index.uuidsOf('worker-1'), [BIOS_UUID], 'an agent knows better')
    t.same(unused, [SWAPPED_UUID])
  },
)

t.test('what was verified of a Node is known while it is there', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  const status = {
    nodeUID: NODE_UID,
    vm: boundVM(),
    identityLevel: 'proven' as const,
    addresses: [
      { type: 'InternalIP' as const, address: '10.0.0.5' },
      { type: 'ExternalIP' as const, address: '10.0.0.5' },
      { type: 'Hostname' as const, address: 'worker-1' },
    ],
  }
  index.node('worker-1', node())
  index.report('worker-1', report({ status }))
  t.match(index.nodeByUID(NODE_UID), { name: 'worker-1', boundTo: { moref: 'vm-42' } })
  t.same(index.addressHolders('10.0.0.5'), ['worker-1'])
  t.same(index.addressHolders('worker-1'), ['worker-1'], 'nor does it share its name')

  const { identityLevel: _, ...refused } = status
  index.report('worker-1', report({ status: refused }))
  t.same(index.addressHolders('10.0.0.5'), [], 'nor when it is refused')
  index.report('worker-1', report({ status }))
  index.node('worker-1', node({ uid: 'new' }))
  t.same(index.addressHolders('10.0.0.5'), [], 'nor a former Node’s')
  t.match(index.nodeByUID('new'), { name: 'worker-1', boundTo: undefined })
  index.node('worker-1', undefined)
  t.same(index.addressHolders('10.0.0.5'), [])
})

t.test(
  'who shares an address is told of each Node that comes to hold it, and again when that is verified',
  async (t) => {
    const index = createNodeIndex(SETTINGS.identity)
    const addresses = [{ type: 'InternalIP' as const, address: '10.0.0.5' }]
    const uuids: Record<string, string> = { first: BIOS_UUID, second: NODE_UID }
    const shown = (name: string) => {
      const biosUUID = uuids[name] ?? ''
      const provided = { taints: [], providerID: `vsphere://${biosUUID}` }
      return node({ name, uid: name, systemUUID: biosUUID, ...provided, addresses })
    }
    const verified = (name: string) => {
      const biosUUID = uuids[name] ?? ''
      const status = { nodeUID: name, vm: boundVM({ biosUUID }), identityLevel: 'proven' as const, addresses }
      return report({ name, spec: { ok: true, value: spec({ machine: { serialUUID: biosUUID } }) }, status })
    }
    index.node('first', shown('first'))
    index.report('first', verified('first'))
    t.ok(index.node('second', shown('second')).concerned.has('first'))
    t.ok(index.report('second', verified('second')).concerned.has('first'))
    t.notOk(index.report('second', verified('second')).concerned.has('first'), 'not forever')
    const { status, ...refused } = verified('second')
    const { identityLevel: _, ...before } = status
    index.report('second', { ...refused, status: before })
    t.ok(index.report('second', verified('second')).concerned.has('first'), 'nor only the first time')
  },
)

t.test('of a Node that nobody has verified one address of each kind is known', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  const addresses = [
    ...['10.0.0.1', '10.0.0.2', '2001:db8::1', '2001:db8::2'].map((address) => ({
      type: 'InternalIP',
      address,
    })),
    { type: 'ExternalIP', address: '192.0.2.1' },
    { type: 'Hostname', address: 'Joined.example' },
    { type: 'Hostname', address: 'other' },
    { type: 'InternalDNS', address: 'internal' },
  ]
  index.node('joined', node({ name: 'joined', taints: [], providerID: `vsphere://${BIOS_UUID}`, addresses }))
  t.same(index.addressesOf('joined'), ['joined', 'joined.example', '10.0.0.1', '2001:db8::1', '192.0.2.1'])
  t.same(index.addressHolders('10.0.0.2'), [], 'it does not hold a subnet against all others')
  index.node('10.0.0.3', node({ name: '10.0.0.3', addresses: [{ type: 'Hostname', address: '10.0.0.3' }] }))
  t.same(index.addressHolders('10.0.0.3'), [], 'nor does one that is called like an address')
})

t.test('an address is held in whatever spelling another provider has written it', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  const addresses = ['::ffff:10.0.0.5', 'FD00:0::0005'].map((address) => ({ type: 'InternalIP', address }))
  index.node('other', node({ name: 'other', taints: [], providerID: `vsphere://${BIOS_UUID}`, addresses }))
  for (const address of ['10.0.0.5', 'fd00::5']) t.same(index.addressHolders(address), ['other'])
})

t.test('the brake is engaged for a Node as long as it is to stay', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  const status = { nodeUID: NODE_UID, vm: boundVM(), brakeEngagedAt: '2026-03-01T10:00:00Z' }
  index.report('worker-1', report({ status }))
  index.node('worker-1', node())
  t.match([...index.latched()], [{ name: 'worker-1', vCenter: 'vc1' }])
  index.node('worker-1', node({ deletionAnnotation: 'proceed' }))
  t.same([...index.latched()], [], 'a person lets it go')
  index.node('worker-1', node({ deletionAnnotation: 'hold' }))
  t.same([...index.latched()], [], 'a person holds it, which must not hold the others')
  index.node('worker-1', node({ deleting: true }))
  t.same([...index.latched()], [], 'it is being deleted, and a finalizer keeps it')
  t.equal(index.inGroup(boundVM().vCenterInstanceUUID), 0, 'nor is the share taken of it')
})

t.test('a Node that only names the VM of another does not count with it', async (t) => {
  const index = createNodeIndex(SETTINGS.identity)
  const named = { nodeUID: NODE_UID, namedVM: boundVM(), brakeEngagedAt: '2026-03-01T10:00:00Z' }
  const vCenter = boundVM().vCenterInstanceUUID
  index.node('worker-1', node({ providerID: `vsphere://${BIOS_UUID}` }))
  index.report('worker-1', report({ status: { nodeUID: NODE_UID, vm: boundVM() } }))
  index.node('joined', node({ name: 'joined', providerID: `vsphere://${BIOS_UUID}` }))
  index.report('joined', report({ name: 'joined', status: named }))
  t.equal(index.inGroup(vCenter), 1, 'the limit is not wider for it')
  t.equal(index.inGroup(''), 2, 'but is a share of all')
  t.match([...index.latched()], [{ name: 'joined', vCenter: 'vc1', group: '' }], 'nor does it hold others')
  t.same([...index.namesIn(vCenter)], ['worker-1', 'joined'], 'though it is a reason to expect VMs there')
})
