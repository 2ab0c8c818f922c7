import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { Controller } from '../world/controller.ts'
import type { Member } from '../world/member.ts'
import { condition, eventsOf, isInitialized, isShutDown, level, ready } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4 })
const { nodes, reports, events, vcsim } = stage

const found = ({ name }: Member) => condition(reports.last(name), 'VMFound')

/** A member whose Node is initialized, and whose VM vCenter watches. */
async function watched(name: string): Promise<Member> {
  const before = await watches()
  const member = await stage.member(name)
  await vcsim.setGuest({ vm: member.vm.ref, hostName: name, nics: [{ addresses: [`${member.address}/24`] }] })
  await member.reportOnce()
  await nodes.until('it is initialized', () => isInitialized(nodes.last(name)))
  await reports.until('it is proven', () => reports.last(name)?.status?.identityLevel === 'proven')
  await until('vCenter watches it', async () => (await watches()) > before)
  return member
}

async function watches(): Promise<number> {
  return (await vcsim.calls()).operations.ModifyListView ?? 0
}

/** Resolves once the Node is what its VM has become. All is read again after five minutes: before, only a push tells. */
function told(member: Member, shutDown: boolean): Promise<void> {
  return nodes.until(
    `${member.name} is ${shutDown ? '' : 'not '}shut down`,
    () => isShutDown(nodes.last(member.name)) === shutDown,
  )
}

const count = (member: Member, reason: string) =>
  eventsOf(events, member.name).filter((event) => event.reason === reason)

let controller: Controller

t.before(async () => {
  controller = await stage.controller()
})

for (const { powerState, power, reason } of [
  { powerState: 'poweredOff', power: 'powered off', reason: 'VMPoweredOff' },
  { powerState: 'suspended', power: 'suspended', reason: 'VMSuspended' },
] as const) {
  t.test(`${power}: tainted at once, and not any more when it runs`, async (t) => {
    const member = await watched(`vm-${powerState.toLowerCase()}`)
    const before = nodes.of(member.name).length

    await vcsim.setState({ vm: member.vm.ref, powerState })
    await told(member, true)
    await vcsim.setGuest({ vm: member.vm.ref, hostName: '', nics: [] })
    await reports.until('the condition says so', () => found(member)?.reason === reason)
    t.match(found(member), { status: 'True', message: new RegExp(`${member.vm.name}.* is ${power}`) })
    await events.until('an Event says so', () => count(member, 'VMShutDown').length > 0)
    t.match(count(member, 'VMShutDown'), [
      { type: 'Warning', count: 1, message: /node\.cloudprovider\.kubernetes\.io\/shutdown:NoSchedule/ },
    ])
    t.equal(nodes.of(member.name).length, before + 1, 'one write')
    t.equal(ready(nodes.last(member.name)), 'True', 'nobody waited for NotReady')

    await vcsim.setState({ vm: member.vm.ref, powerState: 'poweredOn' })
    await told(member, false)
    await events.until('an Event says so', () => count(member, 'VMRuns').length > 0)
    t.match(count(member, 'VMRuns'), [{ type: 'Normal', count: 1 }])
    await reports.until('the condition says so', () => found(member)?.reason === 'VMFound')
    t.equal(nodes.of(member.name).length, before + 2, 'one write more')
    t.equal(level(nodes.last(member.name)), 'proven')
    t.equal(nodes.last(member.name)?.metadata.uid, member.uid)
  })
}

t.test('the controller is away while it goes off, stays off, and comes back', async (t) => {
  const member = await watched('restart')
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
  await until('vCenter watches them', async () => (await watches()) > 0)
  t.equal(nodes.of(member.name).length, taintedNode, 'nothing is written again')
  t.equal(reports.of(member.name).length, taintedReport)
  t.match(count(member, 'VMShutDown'), [{ count: 1 }])

  await restart(() => vcsim.setState({ vm: member.vm.ref, powerState: 'poweredOn' }))
  await nodes.until('the taint is gone', () => !isShutDown(nodes.last(member.name)))
  t.equal(nodes.of(member.name).length, taintedNode + 1)
  t.equal(level(nodes.last(member.name)), 'proven')
  t.equal(reports.last(member.name)?.status?.identityLevel, 'proven')
})
