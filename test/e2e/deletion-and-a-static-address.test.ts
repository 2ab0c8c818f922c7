// A new VM takes the static address of one that was just destroyed, under another name.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { deletionPending, QUICK, verified, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { address, condition, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 14 })
const { cluster, nodes, reports, vcsim } = stage
// No Node is deleted here, so a Node that is initialized did not wait for a deletion.
await stage.controller({ lifecycle: { ...QUICK, absentFor: '2s', deletion: 'off', maxAbsentShare: '100%' } })
const [gone, late, copied, off, alive] = await verified(
  stage,
  'gone',
  'late',
  'copied',
  'off',
  'alive',
  'canary',
)
await watched(stage)

/** A new machine with the address of another, whose agent has said so once. */
async function successorOf(name: string, of: { address: string }) {
  const member = await stage.reported(name, { addresses: [`${of.address}/24`] })
  return member
}

async function refused(name: string, holder: string): Promise<void> {
  await reports.until(`${name} has to wait`, () => {
    const said = condition(reports.last(name), 'AddressesResolved')
    return said?.reason === 'AddressOfAnotherNode' && said.message.includes(`(of Node ${holder})`)
  })
}

t.test('whose VM is proven gone: the new Node is initialized, though the old one stays', async (t) => {
  await vcsim.hide(gone.vm.ref)
  await loseHeartbeats(cluster, gone.name)
  await deletionPending(stage, gone.name, { status: 'True', reason: 'DeletionOff' })
  const next = await successorOf('next', gone)
  await nodes.until('it is initialized', () => isInitialized(nodes.last(next.name)))
  t.equal(address(nodes.last(next.name), 'InternalIP'), gone.address)
  t.ok(nodes.last(gone.name), 'the old Node is still there')
})

t.test('who came first is woken by the proof', async (t) => {
  const next = await successorOf('next-of-late', late)
  await refused(next.name, late.name)
  t.notOk(isInitialized(nodes.last(next.name)))
  await vcsim.hide(late.vm.ref)
  await loseHeartbeats(cluster, late.name)
  await nodes.until('it is initialized', () => isInitialized(nodes.last(next.name)))
  t.equal(address(nodes.last(next.name), 'InternalIP'), late.address)
})

t.test('a copy with the BIOS UUID of one that is gone does not keep its address', async (t) => {
  const [copy] = stage.vms.splice(0, 1)
  if (copy === undefined) throw new Error('no VM is left')
  await vcsim.govc('vm.change', '-dc', copy.datacenter, '-vm', copy.name, '-uuid', copied.vm.uuid)
  await vcsim.hide(copied.vm.ref)
  await loseHeartbeats(cluster, copied.name)
  const next = await successorOf('next-of-copied', copied)
  await nodes.until('it is initialized', () => isInitialized(nodes.last(next.name)))
  t.equal(address(nodes.last(next.name), 'InternalIP'), copied.address)
  t.ok(nodes.last(copied.name), 'its Node is kept, as long as the copy is there')
})

t.test('one that is merely off keeps its address, until a person deletes its Node', async (t) => {
  await vcsim.govc('vm.power', '-off', off.vm.name)
  await loseHeartbeats(cluster, off.name)
  await reports.until(
    'it is told',
    () => condition(reports.last(off.name), 'VMFound')?.reason === 'VMPoweredOff',
  )
  const thief = await successorOf('thief', off)
  await refused(thief.name, off.name)
  t.notOk(isInitialized(nodes.last(thief.name)), 'whoever wants it has to wait')
  await stage.remove(off.name)
  await nodes.until('it is woken by that', () => isInitialized(nodes.last(thief.name)))
})

t.test('so does one whose kubelet says that it lives, whatever vCenter says', async (t) => {
  await vcsim.hide(alive.vm.ref)
  await deletionPending(stage, alive.name, { status: 'True', reason: 'DeletionOff', message: /is Ready/ })
  const thief = await successorOf('thief-of-alive', alive)
  await refused(thief.name, alive.name)
  await until('vCenter was asked about it again', async () => {
    const said = condition(reports.last(alive.name), 'DeletionPending')
    return said?.message.includes('is Ready') === true
  })
  t.notOk(isInitialized(nodes.last(thief.name)))
})
