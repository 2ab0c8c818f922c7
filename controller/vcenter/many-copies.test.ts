/** Whoever makes copies of a VM, more than are read or such as nobody may read, hides neither the VM nor what it does. */
import t, { type Test } from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, NEVER, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

const TIMINGS = { ...QUICK, failed: 500, resync: NEVER, sweep: NEVER, keepAlive: NEVER }

async function followed(t: Test, vms: number) {
  const lab = await openLab(t, { simulator: { vms }, timings: TIMINGS })
  const { vCenter, inventory } = lab
  const victim = await vmAt(lab, vms - 1)
  const tenants = (await vCenter.vms()).filter(({ ref }) => ref !== victim.ref)
  const lookup = () => inventory.lookup(victim.uuid)
  const incomplete = () => {
    const answer = lookup()
    return answer.state === 'answered' ? answer.incomplete : undefined
  }
  const power = () => vmsOf(lookup())?.find(({ moref }) => moref === victim.ref)?.powerState
  const copy = (uuid: string | undefined) =>
    vCenter.setState(...tenants.map((each) => ({ vm: each.ref, uuid: uuid ?? each.uuid })))
  return { lab, victim, tenants, lookup, incomplete, power, copy }
}

t.test('150 copies of a VM that is followed: it is answered, with why others are not', async (t) => {
  const { lab, victim, lookup, incomplete, power, copy } = await followed(t, 151)
  lab.inventory.follow(victim.uuid)
  await answered(lab, victim.uuid)
  t.equal(incomplete(), undefined)
  await copy(victim.uuid)
  const failure = await until('too many', incomplete)
  t.match(failure, { vCenter: 'lab', reason: 'AmbiguousUUID', message: victim.uuid })
  await lab.vCenter.setState({ vm: victim.ref, powerState: 'poweredOff' })
  await until('it is off', () => power() === 'poweredOff')
  const many = vmsOf(lookup())?.length ?? 0
  t.ok(many >= 64 && many <= 128, `${many} VMs`)

  await copy(undefined)
  await answered(lab, victim.uuid, 1)
  await until('all are known', () => incomplete() === undefined)
  t.equal(power(), 'poweredOff')
  t.equal(lab.inventory.failure(), undefined)
})

t.test('a VM that comes after 65 copies is seen, and so is what it does', async (t) => {
  const { lab, victim, copy } = await followed(t, 66)
  const uuid = '42000000-0000-4000-8000-00000000c0de'
  await copy(uuid)
  lab.inventory.follow(uuid)
  await until('too many', () => {
    const answer = lab.inventory.lookup(uuid)
    return answer.state === 'answered' && answer.vms.length >= 64
  })
  const shown = () => vmsOf(lab.inventory.lookup(uuid))?.find(({ moref }) => moref === victim.ref)
  await lab.vCenter.setState({ vm: victim.ref, uuid })
  await until('it is there', shown)
  await lab.vCenter.setState({ vm: victim.ref, powerState: 'suspended' })
  await until('it is suspended', () => shown()?.powerState === 'suspended')
  t.equal(lab.inventory.failure(), undefined)
})

t.test(
  'a VM that is expected is waited for, however many copies another leader finds before it',
  async (t) => {
    const { lab, victim, power, copy } = await followed(t, 151)
    await copy(victim.uuid)
    const expect = () => lab.inventory.lookup(victim.uuid, victim.ref)
    lab.inventory.follow(victim.uuid)
    const answer = await until('an answer', () => {
      const answer = expect()
      return answer.state !== 'pending' && answer
    })
    t.ok(vmsOf(answer)?.some(({ moref }) => moref === victim.ref))
    await lab.vCenter.setState({ vm: victim.ref, powerState: 'poweredOff' })
    await until('it is off', () => power() === 'poweredOff')
    const gone = await until('one that is not there is waited for once', () => {
      const answer = lab.inventory.lookup(victim.uuid, 'vm-none')
      return answer.state === 'answered' && answer
    })
    t.equal(gone.incomplete?.reason, 'AmbiguousUUID')
    t.match(expect(), { state: 'answered' })
  },
)

t.test('a copy that a search finds and nobody may read hides no other', async (t) => {
  const { lab, victim, tenants, incomplete, power } = await followed(t, 3)
  const [tenant] = tenants
  lab.inventory.follow(victim.uuid)
  await answered(lab, victim.uuid)
  const copy = tenant?.ref ?? ''
  await lab.vCenter.deny(copy, 'runtime.powerState')
  await lab.vCenter.setState({ vm: copy, uuid: victim.uuid })
  const failure = await until('the refusal', incomplete)
  t.match(failure, { vCenter: 'lab', reason: 'NoPermission', message: copy })
  await lab.vCenter.setState({ vm: victim.ref, powerState: 'poweredOff' })
  await until('the other is off', () => power() === 'poweredOff')
  t.match(await answered(lab, victim.uuid), [{ moref: victim.ref }])

  await lab.vCenter.setState({ vm: copy, uuid: tenant?.uuid ?? '' })
  await until('all are known', () => incomplete() === undefined)
  t.match(await answered(lab, victim.uuid), [{ moref: victim.ref, powerState: 'poweredOff' }])
})

t.test('50 copies that are refused by a fault each keep nothing from being read', async (t) => {
  const { lab, victim, tenants, incomplete, power, copy } = await followed(t, 51)
  lab.inventory.follow(victim.uuid)
  await copy(victim.uuid)
  await answered(lab, victim.uuid, 51)
  for (const { ref } of tenants) await lab.vCenter.revoke({ object: ref })
  await lab.vCenter.setState({ vm: victim.ref, powerState: 'poweredOff' })
  await until('it is off', () => power() === 'poweredOff')
  t.equal(incomplete(), undefined, 'they are known as they were')
  t.equal(lab.inventory.failure(), undefined)
})
