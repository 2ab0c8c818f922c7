import t from 'tap'
import { deletionPending, probed, QUICK, verified } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import type { Member } from '../world/member.ts'
import { metric } from '../world/meters.ts'
import { eventsOf, isShutDown, level, ready } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// The grace is so long that a VM comes back within it, and no Node is ever deleted here.
const GRACE = { ...QUICK, absentFor: '20s', confirmations: 20, maxAbsentMinimum: 4 }

const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, reports, vcsim } = stage
let controller = await stage.controller({ lifecycle: GRACE })
const [silent, alive, restarted] = await verified(stage, 'silent', 'alive', 'restarted')
await loseHeartbeats(cluster, silent.name, restarted.name)
await nodes.until('both are known to be silent', () =>
  [silent, restarted].every((member) => ready(nodes.last(member.name)) === 'Unknown'),
)

const moref = ({ name }: Member) => reports.last(name)?.status?.vm?.moref

t.test('unregistered and registered again', async (t) => {
  for (const member of [silent, alive]) {
    await t.test(`while its kubelet is ${member.name}`, async (t) => {
      const writes = nodes.of(member.name).length
      await vcsim.unregister(member.vm.ref)
      await deletionPending(stage, member.name, {
        reason: member === alive ? 'NodeReady' : 'NotConfirmed',
        status: 'True',
      })
      await probed(stage, 2)
      t.equal(await metric(controller, 'rollcall_vms_missing{vcenter="main"}'), 1)
      t.equal(moref(member), member.vm.ref, 'the binding stands until another is found')

      const { ref } = await vcsim.register(member.vm.ref)
      const start = performance.now()
      t.not(ref, member.vm.ref)
      await isBound(member, ref)
      t.comment(`bound again ${Math.round(performance.now() - start)} ms after it was registered`)
      t.equal(await metric(controller, 'rollcall_vms_missing{vcenter="main"}'), 0)
      t.equal(nodes.of(member.name).length, writes, 'the Node is not touched')
      await stage.told(member.name, 'VMExists')
      const news = eventsOf(stage.events, member.name).filter(({ reason }) => reason === 'VMExists')
      t.match(news, [{ type: 'Normal', count: 1 }])
    })
  }
})

t.test('while the controller is away', async () => {
  await vcsim.unregister(restarted.vm.ref)
  await deletionPending(stage, restarted.name, { reason: 'NotConfirmed' })
  await controller.stop()
  const { ref } = await vcsim.register(restarted.vm.ref)
  controller = await stage.controller({ lifecycle: GRACE })
  await isBound(restarted, ref)
})

t.test('a new leader finds it missing, and then it comes', async () => {
  const before = moref(restarted) ?? ''
  await controller.stop()
  await vcsim.unregister(before)
  controller = await stage.controller({ lifecycle: GRACE })
  await deletionPending(stage, restarted.name, { reason: 'NotConfirmed' })
  const { ref } = await vcsim.register(before)
  await isBound(restarted, ref)
})

/** The Node is the same, and bound to the VM under this reference. */
async function isBound(member: Member, ref: string): Promise<void> {
  await reports.until(`${member.name} is bound to ${ref}`, () => moref(member) === ref)
  await deletionPending(stage, member.name, { reason: 'VMExists', status: 'False' })
  await stage.says(member.name, 'VMFound', { status: 'True' })
  t.match(reports.last(member.name)?.status, {
    identityLevel: 'proven',
    vm: { instanceUUID: member.vm.instanceUuid, biosUUID: member.vm.uuid },
  })
  t.equal(nodes.last(member.name)?.metadata.uid, member.uid)
  t.equal(level(nodes.last(member.name)), 'proven')
  t.notOk(isShutDown(nodes.last(member.name)))
}
