import t from 'tap'
import type { VMState } from '../servers/control.ts'
import type { CrowdMember } from '../world/crowd.ts'
import { condition, isShutDown } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const UNKNOWN = { status: 'Unknown', reason: 'VMNotConnected' }
const OFF = { status: 'True', reason: 'VMPoweredOff' }
const SUSPENDED = { status: 'True', reason: 'VMSuspended' }
const CELLS: readonly Scene[] = [
  { connection: 'connected', power: 'poweredOff', wasOff: false, tainted: true, says: OFF },
  { connection: 'connected', power: 'suspended', wasOff: true, tainted: true, says: SUSPENDED },
  { connection: 'disconnected', power: 'poweredOff', wasOff: false, tainted: false, says: UNKNOWN },
  { connection: 'disconnected', power: 'poweredOn', wasOff: true, tainted: true, says: UNKNOWN },
]

const stage = await openStage(t, { vms: CELLS.length })
const { nodes, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle: { absentFor: '1s', leaderAge: '0s' } })
const members = await stage.crowd(CELLS.length)
const scenes = members.flatMap((member, i) => CELLS.slice(i, i + 1).map((cell) => ({ ...cell, member })))
const found = ({ name }: CrowdMember) => condition(reports.last(name), 'VMFound')

const written = new Map<string, number>()

t.test('half of them are off', async (t) => {
  await vcsim.setState(
    ...scenes
      .filter(({ wasOff }) => wasOff)
      .map(({ member }) => ({ vm: member.vm.ref, powerState: 'poweredOff' as const })),
  )
  await reports.until('half of them are off', () =>
    scenes.every(({ wasOff, member }) => !wasOff || found(member)?.reason === 'VMPoweredOff'),
  )
  await nodes.until('these are tainted', () =>
    scenes.every(({ wasOff, member }) => !wasOff || isShutDown(nodes.last(member.name))),
  )
  for (const { member, wasOff } of scenes) t.equal(isShutDown(nodes.last(member.name)), wasOff)
})

t.test('each comes to be in its state', async () => {
  for (const { name } of members) written.set(name, nodes.of(name).length)
  await vcsim.setState(
    ...scenes.map(({ member, connection, power }) => ({
      vm: member.vm.ref,
      connectionState: connection,
      powerState: power,
    })),
  )
})

for (const { connection, power, says, wasOff, tainted, member } of scenes) {
  const before = wasOff ? 'off' : 'running'
  t.test(`${connection} and ${power}, ${before} before: ${tainted ? '' : 'not '}tainted`, async (t) => {
    await reports.until(`${member.name} says ${says.reason}`, () => found(member)?.reason === says.reason)
    t.match(found(member), { ...says, message: member.vm.name })
    // The taint is written before the condition, but two watches have no order between them.
    await nodes.until(
      `${member.name} has its taint or none`,
      () => isShutDown(nodes.last(member.name)) === tainted,
    )
    t.equal(isShutDown(nodes.last(member.name)), tainted)
    const changed = tainted === wasOff ? 0 : 1
    t.equal(nodes.of(member.name).length, (written.get(member.name) ?? 0) + changed, 'no other write')
  })
}

t.test('all of them run again', async (t) => {
  await vcsim.setState(
    ...members.map(({ vm }) => ({
      vm: vm.ref,
      connectionState: 'connected' as const,
      powerState: 'poweredOn' as const,
    })),
  )
  await reports.until('they are found', () => members.every((member) => found(member)?.reason === 'VMFound'))
  await nodes.until('none is tainted', () => !members.some(({ name }) => isShutDown(nodes.last(name))))
  t.notOk(members.some(({ name }) => isShutDown(nodes.last(name))))
  for (const { name, uid } of members) {
    t.equal(nodes.last(name)?.metadata.uid, uid)
    t.equal(reports.last(name)?.status?.identityLevel, 'proven')
    t.equal(condition(reports.last(name), 'DeletionPending'), undefined)
  }
  t.equal(controller.exit(), undefined)
})

// What pushes, conditions and taints come to, all at once on one stage; shutdown-taint.test.ts has each state of a VM.
interface Scene {
  readonly connection: NonNullable<VMState['connectionState']>
  readonly power: NonNullable<VMState['powerState']>
  readonly wasOff: boolean
  /** Where nobody knows, the taint stays as it was. */
  readonly tainted: boolean
  readonly says: { readonly status: string; readonly reason: string }
}
