import t from 'tap'
import { BIOS_UUID, NODE_UID, node, report, SWAPPED_UUID, spec } from '../../test/fixtures/facts.ts'
import { createNodeIndex } from './node-index.ts'

t.test('Nodes are found by what they report and by what they are', async (t) => {
  const index = createNodeIndex()
  index.node(node(), undefined)
  t.same(index.namesByUUID(BIOS_UUID), [])
  t.equal(index.nameByUID(NODE_UID), 'worker-1')

  index.report(report(), undefined)
  const settled = node({ providerID: `vsphere://${BIOS_UUID.toUpperCase()}` })
  index.node(settled, node())
  t.same(index.namesByUUID(BIOS_UUID), ['worker-1'], 'once, although by both')

  const moved = report({ spec: { ok: true, spec: spec({ machine: { serialUUID: NODE_UID } }) } })
  index.report(moved, report())
  t.same(index.namesByUUID(NODE_UID), ['worker-1'])
  t.same(index.namesByUUID(BIOS_UUID), ['worker-1'], 'its provider ID still says so')

  index.node(undefined, settled)
  index.report(undefined, moved)
  t.same(index.namesByUUID(BIOS_UUID), [])
  t.same(index.namesByUUID(NODE_UID), [])
  t.equal(index.nameByUID(NODE_UID), undefined)
})

t.test('a Node registered anew under its name is another one', async (t) => {
  const index = createNodeIndex()
  index.node(node(), undefined)
  index.node(node({ uid: 'new' }), node())
  t.equal(index.nameByUID(NODE_UID), undefined)
  t.equal(index.nameByUID('new'), 'worker-1')
})

t.test('a provider ID in the in-tree provider’s byte order points to the same VM', async (t) => {
  const index = createNodeIndex()
  index.node(node({ name: 'old', providerID: `vsphere://${SWAPPED_UUID}` }), undefined)
  t.same(index.namesByUUID(BIOS_UUID), ['old'])
})
