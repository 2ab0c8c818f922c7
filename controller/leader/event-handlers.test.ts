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
} from '../../test/fixtures/facts.ts'
import type { DecisionConfig } from '../config/config.ts'
import { createNodeIndex } from '../loops/node/gather/node-index.ts'
import { createEventHandlers, createInventoryHandler } from './event-handlers.ts'

function setUp(identity: DecisionConfig['identity'] = SETTINGS.identity) {
  const added: string[] = []
  const followed: string[] = []
  const index = createNodeIndex(identity)
  const queue = { add: (name: string) => added.push(name) }
  const inventories = [
    {
      follow: (uuid: string) => followed.push(`+${uuid}`),
      unfollow: (uuid: string) => followed.push(`-${uuid}`),
    },
  ]
  const watch = {
    ...createEventHandlers({ index, queue, inventories }),
    onInventory: createInventoryHandler(index, queue),
  }
  const take = () => [...new Set(added.splice(0))].sort()
  return { watch, take, followed }
}

t.test('a VM is followed while a report names it', async (t) => {
  const { watch, followed } = setUp()
  const twin = report({ name: 'worker-2' })
  watch.onReport('worker-1', report())
  watch.onReport('worker-2', twin)
  watch.onReport('worker-1', undefined)
  t.same(followed, [`+${BIOS_UUID}`, `+${BIOS_UUID}`], 'the other one still does')
  const moved = report({
    name: 'worker-2',
    spec: { ok: true, value: spec({ machine: { serialUUID: NODE_UID } }) },
  })
  watch.onReport('worker-2', moved)
  t.same(followed.slice(2), [`+${NODE_UID}`, `-${BIOS_UUID}`])
})

t.test('Nodes that point to one VM concern each other', async (t) => {
  const { watch, take } = setUp()
  watch.onNode('worker-1', node())
  watch.onReport('worker-1', report())
  t.same(take(), ['worker-1'])
  watch.onReport('worker-2', report({ name: 'worker-2' }))
  t.same(take(), ['worker-1', 'worker-2'])
  watch.onNode('worker-1', undefined)
  t.same(take(), ['worker-1', 'worker-2'])
  watch.onInventory([BIOS_UUID])
  t.same(take(), ['worker-1', 'worker-2'])
})

t.test('a heartbeat concerns the Node alone', async (t) => {
  const { watch, take } = setUp()
  watch.onReport('worker-1', report())
  watch.onReport('worker-2', report({ name: 'worker-2' }))
  watch.onNode('worker-1', node())
  take()
  watch.onNode('worker-1', node({ resourceVersion: '101' }))
  t.same(take(), ['worker-1'])
})

t.test('a Node that comes or goes by its provider ID concerns those that report the same VM', async (t) => {
  const { watch, take } = setUp()
  watch.onNode('worker-1', node())
  watch.onReport('worker-1', report())
  take()
  const rival = node({ name: 'forger', uid: 'f', providerID: `vsphere://${SWAPPED_UUID}` })
  watch.onNode('forger', rival)
  t.same(take(), ['forger', 'worker-1'])
  watch.onNode('forger', undefined)
  t.same(take(), ['forger', 'worker-1'])
})

t.test('an exempt Node is followed from its registration, in both byte orders', async (t) => {
  const { watch, followed } = setUp({ require: 'asserted', exempt: undefined, requireAllVCenters: true })
  watch.onNode('worker-1', node())
  t.same(followed.splice(0).sort(), [`+${BIOS_UUID}`, `+${SWAPPED_UUID}`])
  watch.onReport('worker-1', report())
  t.same(followed.splice(0), [`-${SWAPPED_UUID}`])
  watch.onNode('worker-1', undefined)
  watch.onReport('worker-1', undefined)
  t.same(followed, [`-${BIOS_UUID}`])
})

t.test('a status that is decided concerns nobody, and the VM that it names is followed', async (t) => {
  const { watch, take, followed } = setUp()
  watch.onNode('worker-1', node())
  watch.onReport('worker-1', report())
  take()
  followed.splice(0)
  const decided = report({ status: { nodeUID: NODE_UID, identityLevel: 'proven', vm: boundVM() } })
  watch.onStatus('worker-1', decided)
  t.same([take(), followed.splice(0)], [[], []])
  const other = '420e3f74-ea84-f9a2-7736-000000000000'
  watch.onStatus('worker-1', report({ status: { ...decided.status, vm: boundVM({ biosUUID: other }) } }))
  t.same([take(), followed.splice(0)], [['worker-1'], [`+${other}`]])
})
