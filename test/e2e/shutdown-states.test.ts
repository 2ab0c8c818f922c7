import t from 'tap'
import type { CrowdMember } from '../fixtures/crowd.ts'
import type { VMState } from '../servers/control.ts'
import { condition, isShutDown } from './objects.ts'
import { openStage } from './stage.ts'

// Each state of a VM, entered from running and from off, all at once, on one stage.
type Connection = NonNullable<VMState['connectionState']>
type Power = NonNullable<VMState['powerState']>

/** What becomes of the taint, and what is said; where nobody knows, the taint stays as it is. */
const CELLS: Readonly<
  Record<Connection, Readonly<Record<Power, [taint: 'gone' | 'there' | 'as it was', reason: string]>>>
> = {
  connected: {
    poweredOn: ['gone', 'VMFound'],
    poweredOff: ['there', 'VMPoweredOff'],
    suspended: ['there', 'VMSuspended'],
  },
  disconnected: {
    poweredOn: ['as it was', 'VMNotConnected'],
    poweredOff: ['as it was', 'VMNotConnected'],
    suspended: ['as it was', 'VMNotConnected'],
  },
  inaccessible: {
    poweredOn: ['as it was', 'VMNotConnected'],
    poweredOff: ['as it was', 'VMNotConnected'],
    suspended: ['as it was', 'VMNotConnected'],
  },
  invalid: {
    poweredOn: ['as it was', 'VMNotConnected'],
    poweredOff: ['as it was', 'VMNotConnected'],
    suspended: ['as it was', 'VMNotConnected'],
  },
  orphaned: {
    poweredOn: ['as it was', 'VMNotConnected'],
    poweredOff: ['as it was', 'VMNotConnected'],
    suspended: ['as it was', 'VMNotConnected'],
  },
}

const STATUS: Readonly<Record<string, string>> = { VMNotConnected: 'Unknown' }

const cells = Object.entries(CELLS).flatMap(([connection, row]) =>
  Object.entries(row).flatMap(([power, [taint, reason]]) =>
    [false, true].map((wasOff) => ({
      // The keys of an object are strings to the compiler.
      connection: connection as Connection,
      power: power as Power,
      taint,
      reason,
      wasOff,
    })),
  ),
)

const stage = await openStage(t, { vms: cells.length })
const { nodes, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle: { absentFor: '1s', leaderAge: '0s' } })
const members = await stage.crowd(cells.length)
const scenes = cells.map((cell, index) => ({ ...cell, member: memberAt(index) }))

function memberAt(index: number): CrowdMember {
  const member = members[index]
  if (member === undefined) throw new Error(`there is no member ${index}`)
  return member
}

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
  for (const { member, wasOff } of scenes) t.equal(isShutDown(nodes.last(member.name)), wasOff)
})

t.test('each comes to be in its state', async () => {
  for (const { name } of members) written.set(name, nodes.of(name).length)
  await vcsim.setState(
    ...scenes.map(({ member, connection, power }) => ({
      vm: member.vm.ref,
      connectionState: connection,
      powerState: power,
      // vCenter cannot read the configuration of such a VM.
      ...(connection === 'inaccessible' ? { uuid: '' } : {}),
    })),
  )
})

for (const { connection, power, taint, reason, wasOff, member } of scenes) {
  t.test(`${connection} and ${power}, ${wasOff ? 'off' : 'running'} before: ${taint}`, async (t) => {
    await reports.until(`${member.name} says ${reason}`, () => found(member)?.reason === reason)
    t.equal(found(member)?.status, STATUS[reason] ?? 'True')
    t.match(found(member)?.message, member.vm.name)
    const expected = taint === 'as it was' ? wasOff : taint === 'there'
    t.equal(isShutDown(nodes.last(member.name)), expected)
    const changed = expected === wasOff ? 0 : 1
    t.equal(nodes.of(member.name).length, (written.get(member.name) ?? 0) + changed, 'no other write')
  })
}

t.test('all of them run again', async (t) => {
  await vcsim.setState(
    ...members.map(({ vm }) => ({
      vm: vm.ref,
      uuid: vm.uuid,
      connectionState: 'connected' as const,
      powerState: 'poweredOn' as const,
    })),
  )
  await reports.until('they are found', () => members.every((member) => found(member)?.reason === 'VMFound'))
  t.notOk(members.some(({ name }) => isShutDown(nodes.last(name))))
  for (const { name, uid } of members) {
    t.equal(nodes.last(name)?.metadata.uid, uid)
    t.equal(reports.last(name)?.status?.identityLevel, 'proven')
    t.equal(condition(reports.last(name), 'DeletionPending'), undefined)
  }
  t.equal(controller.exit(), undefined)
})
