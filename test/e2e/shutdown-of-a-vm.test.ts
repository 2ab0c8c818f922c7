import t from 'tap'
import { eventsOfReason, settled, watched } from '../world/deletion.ts'
import type { Member } from '../world/member.ts'
import { condition, isInitialized, isShutDown, level, ready } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4 })
const { nodes, reports, vcsim } = stage
let controller = await stage.controller()

const found = ({ name }: Member) => condition(reports.last(name), 'VMFound')

t.test('a VM goes off and comes back under a controller that runs', async (t) => {
  for (const { powerState, power, reason } of [
    { powerState: 'poweredOff', power: 'powered off', reason: 'VMPoweredOff' },
    { powerState: 'suspended', power: 'suspended', reason: 'VMSuspended' },
  ] as const) {
    await t.test(`${power}: tainted at once, and not any more when it runs`, async (t) => {
      const member = await joined(`vm-${powerState.toLowerCase()}`)
      const before = nodes.of(member.name).length

      await vcsim.setState({ vm: member.vm.ref, powerState })
      await followed(member, true)
      await vcsim.setGuest({ vm: member.vm.ref, hostName: '', nics: [] })
      await reports.until('the condition says so', () => found(member)?.reason === reason)
      t.match(found(member), { status: 'True', message: new RegExp(`${member.vm.name}.* is ${power}`) })
      t.match(await stage.told(member.name, 'VMShutDown'), [
        { type: 'Warning', count: 1, message: /node\.cloudprovider\.kubernetes\.io\/shutdown:NoSchedule/ },
      ])
      t.equal(nodes.of(member.name).length, before + 1, 'one write')
      t.equal(ready(nodes.last(member.name)), 'True', 'nobody waited for NotReady')

      await vcsim.setState({ vm: member.vm.ref, powerState: 'poweredOn' })
      await followed(member, false)
      t.match(await stage.told(member.name, 'VMRuns'), [{ type: 'Normal', count: 1 }])
      await reports.until('the condition says so', () => found(member)?.reason === 'VMFound')
      t.equal(nodes.of(member.name).length, before + 2, 'one write more')
      t.equal(level(nodes.last(member.name)), 'proven')
      t.equal(nodes.last(member.name)?.metadata.uid, member.uid)
    })
  }
})

t.test('the controller is away while it goes off, stays off, and comes back', async (t) => {
  const member = await joined('restart')
  const restart = async (meanwhile: () => Promise<unknown>) => {
    await controller.stop()
    await meanwhile()
    controller = await stage.controller()
  }
  await restart(() => vcsim.setState({ vm: member.vm.ref, powerState: 'poweredOff' }))
  await nodes.until('it is tainted', () => isShutDown(nodes.last(member.name)))
  await reports.until('the condition says so', () => found(member)?.reason === 'VMPoweredOff')
  const [taintedNode, taintedReport] = [nodes.of(member.name).length, reports.of(member.name).length]

  const witness = await stage.member('witness')
  await restart(() => witness.reportOnce())
  await nodes.until('another Node is initialized', () => isInitialized(nodes.last('witness')))
  await watched(stage)
  t.equal(nodes.of(member.name).length, taintedNode, 'nothing is written again')
  t.equal(reports.of(member.name).length, taintedReport)
  t.match(eventsOfReason(stage, member.name, 'VMShutDown'), [{ count: 1 }])

  await restart(() => vcsim.setState({ vm: member.vm.ref, powerState: 'poweredOn' }))
  await nodes.until('the taint is gone', () => !isShutDown(nodes.last(member.name)))
  t.equal(nodes.of(member.name).length, taintedNode + 1)
  t.equal(level(nodes.last(member.name)), 'proven')
  t.equal(reports.last(member.name)?.status?.identityLevel, 'proven')
})

/** Resolves once the Node is what its VM has become. All is read again after five minutes: before, only a push tells. */
async function followed(member: Member, shutDown: boolean): Promise<void> {
  await nodes.until(
    `${member.name} is ${shutDown ? '' : 'not '}shut down`,
    () => isShutDown(nodes.last(member.name)) === shutDown,
  )
}

/** A member whose Node is initialized, and whose VM vCenter watches. */
async function joined(name: string): Promise<Member> {
  const member = await stage.member(name, { tools: true })
  await member.reportOnce()
  await settled(stage, name)
  await watched(stage)
  return member
}
