/** The vCenter account may read most of a VM, and not all. */
import t from 'tap'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { until } from '../fixtures/until.ts'
import type { Member } from '../world/member.ts'
import { condition, eventsOf, isInitialized, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4 })
const { nodes, reports, vcsim } = stage
await stage.controller()

t.test('a VM of which something essential may not be read is named, with the privilege', async (t) => {
  const member = await stage.member('essential')
  await vcsim.deny(member.vm.ref, 'runtime.connectionState')
  await member.agent()
  t.match(await stage.says(member.name, 'VMFound', { reason: 'NoPermission' }), {
    status: 'Unknown',
    message: `runtime.connectionState of the VM "${member.vm.name}" (${member.vm.ref}) without the privilege System.Read`,
  })
  t.notOk(isInitialized(nodes.last(member.name)))
  await stage.events.until('an Event', () =>
    eventsOf(stage.events, member.name).some(
      ({ type, reason }) => type === 'Warning' && reason === 'NoPermission',
    ),
  )
})

t.test('a Node that was initialized stays what it was, and says so', async (t) => {
  const member = await stage.member('later')
  await member.agent()
  await nodes.until('it is proven', () => level(nodes.last(member.name)) === 'proven')
  const before = nodes.last(member.name)
  const found = () => condition(reports.last(member.name), 'VMFound')
  await reports.until('its VM is found', () => found()?.status === 'True')
  await vcsim.deny(member.vm.ref, 'config.uuid')
  await toldUntil(member, 'it is said', () => found()?.reason === 'NoPermission')
  t.match(found()?.message, `config.uuid of the VM "${member.vm.name}"`)
  t.same(nodes.last(member.name)?.spec, before?.spec)
  t.equal(level(nodes.last(member.name)), 'proven')
  t.equal(condition(reports.last(member.name), 'IdentityVerified')?.status, 'True')
})

t.test('a claim that may not be read leaves the level as reported, and is said', async (t) => {
  const member = await stage.member('claimed')
  await vcsim.deny(member.vm.ref, `config.extraConfig["${GUESTINFO_CLAIM}"]`)
  await member.agent()
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  await nodes.until('its level is reported', () => level(nodes.last(member.name)) === 'reported')
  const identity = () => condition(reports.last(member.name), 'IdentityVerified')
  await reports.until('its reason is said', () => /ClaimUnreadable/.test(identity()?.message ?? ''))
  t.match(identity()?.message, 'account is not allowed to read')
  await vcsim.deny(member.vm.ref)
  await toldUntil(member, 'it is proven', () => level(nodes.last(member.name)) === 'proven')
})

/** Has vCenter tell of something that makes the VM be read again, which is heard once the VM is watched. */
async function toldUntil({ vm }: Member, what: string, holds: () => boolean): Promise<void> {
  await until(what, async () => {
    await vcsim.tell(vm.ref, { name: 'config', op: 'assign' })
    return holds()
  })
}
