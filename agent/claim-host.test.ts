import { join } from 'node:path'
import t from 'tap'
import { until } from '../test/fixtures/until.ts'
import { type RpctoolOptions, writeRpctool } from '../test/servers/rpctool.ts'
import { startVcsim } from '../test/servers/vcsim.ts'
import { createClaimKeeper } from './claim.ts'
import { createGuestinfo, findTools } from './facts/guestinfo.ts'
import { systemClock } from './shared/clock.ts'
import { formatClaim, GUESTINFO_CLAIM } from './shared/node-report.ts'

const nodeUID = '11111111-1111-1111-1111-111111111111'
const bootID = '22222222-2222-2222-2222-222222222222'
const nonce = 'ab'.repeat(16)
const CLAIM = formatClaim({ nodeUID, bootID, nonce })
const { signal } = new AbortController()

const vcsim = await startVcsim({ vms: 1 })
t.teardown(() => vcsim.stop())
const [vm] = await vcsim.vms()
if (!vm) throw new Error('no machine')
const { ref } = vm

/** A machine whose programs and host behave like this, until they behave otherwise. */
async function machine(root: string, how: Partial<RpctoolOptions>) {
  const become = (other: Partial<RpctoolOptions>) =>
    writeRpctool(join(root, 'usr/bin'), { vcsim, vm: ref, ...other })
  await become(how)
  await vcsim.setGuestinfo({ vm: ref, key: GUESTINFO_CLAIM, value: '' })
  const find = () => findTools(root, '/nowhere/rollcall-agent')
  // Who does not hang is given the time that a busy machine takes; where vmtoolsd hangs, the other tool does not.
  const timeout = how.hang === true ? 500 : how.vmtoolsd === 'hangs' ? 10_000 : 60_000
  const guestinfo = createGuestinfo({ findTools: find, clock: systemClock, signal, timeout })
  return { become, keeper: createClaimKeeper(guestinfo, () => nonce) }
}

const stands = () => vcsim.getGuestinfo(ref, GUESTINFO_CLAIM)

t.test('by which way a host takes the claim', async (t) => {
  for (const [name, how] of [
    ['by the plain way', {}],
    ['by the privileged channel', { deny: ['info-set'], vmtoolsd: 'works' }],
    ['both commands by the privileged channel', { deny: ['info-set', 'info-get'], vmtoolsd: 'works' }],
    ['without letting it be read', { deny: ['info-get'] }],
  ] as [string, Partial<RpctoolOptions>][]) {
    const { keeper } = await machine(t.testdir(), how)
    t.match(await keeper.stand(nodeUID, bootID), { written: true, reason: 'Written' }, name)
    t.equal(await stands(), CLAIM, name)
    t.notOk(keeper.pending())
  }
})

t.test('why a host does not take it, and whether that may pass', async (t) => {
  const auth = /guest_rpc\.rpci\.auth\.cmd\.info-set/
  for (const [name, how, reason, message, pending] of [
    ['privileged alone, no vmtoolsd', { deny: ['info-set'] }, 'PermissionDenied', auth, false],
    ['refused', { deny: ['info-set'], vmtoolsd: 'refused' }, 'PrivilegedChannelRefused', auth, false],
    ['broken', { deny: ['info-set'], vmtoolsd: 'fails' }, 'PrivilegedChannelFailed', auth, true],
    ['hanging', { deny: ['info-set'], vmtoolsd: 'hangs' }, 'PrivilegedChannelFailed', auth, true],
    ['turned off', { disable: ['info-set'] }, 'Disabled', /isolation\.tools\.setinfo\.disable/, false],
    [
      'turned off, with vmtoolsd',
      { disable: ['info-set'], vmtoolsd: 'works' },
      'Disabled',
      /isolation\.tools\.setinfo\.disable/,
      false,
    ],
    ['busy', { hang: true }, 'TimedOut', /vmware-rpctool gave no answer within 0\.5 s/, true],
  ] as [string, Partial<RpctoolOptions>, string, RegExp, boolean][]) {
    const root = t.testdir()
    const { become, keeper } = await machine(root, how)
    const result = await keeper.stand(nodeUID, bootID)
    t.match(result, { written: false, reason, message }, name)
    t.ok(result.message.replace(root, '').length <= 256, 'has room in a report')
    t.equal(keeper.pending(), pending, `${name}: ${pending ? 'may pass' : 'does not pass by itself'}`)
    t.equal(await stands(), undefined)
    await become({})
    await until('it is over', async () => {
      await keeper.retry()
      return keeper.known()?.written
    })
    t.equal(await stands(), CLAIM)
  }
})
