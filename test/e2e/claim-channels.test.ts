import t from 'tap'
import type { MemberOptions } from '../world/member.ts'
import { condition, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 6 })
const { nodes, reports } = stage
await stage.controller()

const WAYS: { name: string; rpctool: MemberOptions['rpctool'] & object; level: string; reason?: RegExp }[] = [
  { name: 'plain', rpctool: {}, level: 'proven' },
  { name: 'privileged', rpctool: { deny: ['info-set'], vmtoolsd: 'works' }, level: 'proven' },
  {
    name: 'no-vmtoolsd',
    rpctool: { deny: ['info-set'] },
    level: 'reported',
    reason: /ClaimPermissionDenied/,
  },
  {
    name: 'refused',
    rpctool: { deny: ['info-set'], vmtoolsd: 'refused' },
    level: 'reported',
    reason: /ClaimPrivilegedChannelRefused/,
  },
  {
    name: 'failing',
    rpctool: { deny: ['info-set'], vmtoolsd: 'fails' },
    level: 'reported',
    reason: /ClaimPrivilegedChannelFailed/,
  },
  { name: 'switched-off', rpctool: { disable: ['info-set'] }, level: 'reported', reason: /ClaimDisabled/ },
]

for (const way of WAYS) {
  t.test(`the way to guestinfo: ${way.name}`, async (t) => {
    const { name } = await stage.member(way.name, { rpctool: way.rpctool }).then(async (member) => {
      await member.reportOnce()
      return member
    })
    await nodes.until(`${name} is ${way.level}`, () => level(nodes.last(name)) === way.level)
    const current = () => condition(reports.last(name), 'IdentityVerified')
    await reports.until('the report says so', () => current()?.status === 'True')
    t.match(current()?.message, way.reason ?? /itself names this Node/)
  })
}
