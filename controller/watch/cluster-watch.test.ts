import t from 'tap'
import { BIOS_UUID, NODE_UID, node, report, spec } from '../../test/fixtures/facts.ts'
import { createNodeIndex } from '../gather/node-index.ts'
import { createClusterWatch } from './cluster-watch.ts'

function setUp() {
  const added: string[] = []
  const followed: string[] = []
  const watch = createClusterWatch({
    index: createNodeIndex(),
    queue: { add: (name) => added.push(name) },
    inventories: [
      { follow: (uuid) => followed.push(`+${uuid}`), unfollow: (uuid) => followed.push(`-${uuid}`) },
    ],
  })
  const take = () => [...new Set(added.splice(0))].sort()
  return { watch, take, followed }
}

t.test('a VM is followed while a report names it', async (t) => {
  const { watch, followed } = setUp()
  const twin = report({ name: 'worker-2' })
  watch.onReport('worker-1', report(), undefined)
  watch.onReport('worker-2', twin, undefined)
  watch.onReport('worker-1', undefined, report())
  t.same(followed, [`+${BIOS_UUID}`, `+${BIOS_UUID}`], 'the other one still does')
  const moved = report({
    name: 'worker-2',
    spec: { ok: true, spec: spec({ machine: { serialUUID: NODE_UID } }) },
  })
  watch.onReport('worker-2', moved, twin)
  t.same(followed.slice(2), [`+${NODE_UID}`, `-${BIOS_UUID}`])
})

t.test('Nodes that point to one VM concern each other', async (t) => {
  const { watch, take } = setUp()
  watch.onNode('worker-1', node(), undefined)
  watch.onReport('worker-1', report(), undefined)
  t.same(take(), ['worker-1'])
  watch.onReport('worker-2', report({ name: 'worker-2' }), undefined)
  t.same(take(), ['worker-1', 'worker-2'])
  watch.onNode('worker-1', undefined, node())
  t.same(take(), ['worker-1', 'worker-2'])
  watch.onInventory([BIOS_UUID])
  t.same(take(), ['worker-1', 'worker-2'])
})

t.test('a heartbeat concerns the Node alone', async (t) => {
  const { watch, take } = setUp()
  watch.onReport('worker-1', report(), undefined)
  watch.onReport('worker-2', report({ name: 'worker-2' }), undefined)
  watch.onNode('worker-1', node(), undefined)
  take()
  watch.onNode('worker-1', node({ resourceVersion: '101' }), node())
  t.same(take(), ['worker-1'])
})
