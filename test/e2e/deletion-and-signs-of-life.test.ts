// VMs that vCenter does not have, of machines that live: unregistered, or in a vCenter that is not configured.
import t from 'tap'
import { deleted, deletionPending, eventsOfReason, QUICK, verified, watched } from '../world/deletion.ts'
import { heartbeat, loseHeartbeats, renewLease } from '../world/kubelet.ts'
import { openStage } from '../world/stage.ts'

const ABSENT_FOR = 3_000
const stage = await openStage(t, { vms: 7 })
const { cluster, nodes, vcsim } = stage
await stage.controller({ lifecycle: { ...QUICK, absentFor: `${ABSENT_FOR}ms`, maxAbsentShare: '100%' } })
const names = ['ready', 'agent', 'kubelet', 'lease', 'silent', 'later']
const members = await verified(stage, ...names, 'canary')
const member = (name: string) => {
  const found = members.find((each) => each.name === name)
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found
}
await watched(stage)
await renewLease(cluster, 'lease')
await loseHeartbeats(cluster, ...names.filter((name) => name !== 'ready'))

const signs: Record<string, () => Promise<void>> = {
  agent: () => member('agent').reportOnce(),
  kubelet: () => heartbeat(cluster, 'kubelet', 'False'),
  lease: () => renewLease(cluster, 'lease'),
}
const last = new Map<string, number>()

t.test('those that live are kept, as long as they live', async (t) => {
  await vcsim.unregister(member('ready').vm.ref)
  await vcsim.hide(...['agent', 'kubelet', 'lease', 'silent'].map((name) => member(name).vm.ref))
  await deletionPending(stage, 'ready', {
    status: 'True',
    reason: 'NodeReady',
    message: /the Node is Ready, so its machine runs somewhere; check whether its VM was unregistered/,
  })
  const living = new AbortController()
  const lives = Object.entries(signs).map(async ([name, sign]) => {
    while (!living.signal.aborted) {
      last.set(name, performance.now())
      await sign()
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  })
  await nodes.until('the silent one is deleted', () => nodes.last('silent') === undefined)
  await vcsim.hide(member('later').vm.ref)
  await nodes.until('so is one that went later', () => nodes.last('later') === undefined)
  for (const name of ['ready', ...Object.keys(signs)]) t.ok(nodes.last(name), name)
  living.abort()
  await Promise.all(lives)
})

for (const name of Object.keys(signs)) {
  t.test(`after the last sign of life (${name}) it takes all confirmations`, async (t) => {
    await deleted(stage, name)
    const took = (nodes.of(name).at(-1)?.at ?? 0) - (last.get(name) ?? 0)
    t.ok(took >= ABSENT_FOR, `${took.toFixed()} ms`)
    t.equal(eventsOfReason(stage, name, 'NodeDeleted').length <= 1, true)
  })
}

t.test('the one that is Ready is there still', async (t) => {
  await deletionPending(stage, 'ready', { status: 'True', reason: 'NodeReady' })
  t.ok(nodes.last('ready'))
})
