/** A password that changes under an inventory that runs. */
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { until } from '../../test/fixtures/until.ts'
import { startVcsim } from '../../test/servers/vcsim.ts'
import { Secret } from '../config/secret.ts'
import { openInventory } from './inventory.ts'
import { configOf, QUICK, vmsOf } from './testing/lab.ts'
import { testLogins } from './testing/logins.ts'
import type { Timings } from './timings.ts'

interface Options {
  readonly password: string
  readonly configured: string
  readonly timings?: Timings
}

async function open(t: Test, { password, configured, timings = QUICK }: Options) {
  const vCenter = await startVcsim({ clusters: 2, vms: 2, password })
  t.teardown(() => vCenter.stop())
  await vCenter.tag(
    { category: 'k8s-zone', tag: 'a', object: 'DC0_C0' },
    { category: 'k8s-zone', tag: 'b', object: 'DC0_C1' },
  )
  let current = new Secret(configured)
  const inventory = openInventory({
    config: {
      ...(await configOf(vCenter)),
      get password() {
        return current
      },
    },
    categories: { zone: 'k8s-zone' },
    userAgent: 'test',
    clock: systemClock,
    random: Math.random,
    logger: pino({ level: 'silent' }),
    logins: testLogins({ timings }),
    metrics: { call() {}, reconnect() {}, resynced() {}, unwatched() {} },
    onChange: () => undefined,
    timings,
  })
  const end = new AbortController()
  const start = () => {
    const running = inventory.run(end.signal)
    t.teardown(async () => {
      end.abort()
      await running
    })
  }
  const [first, second] = await vCenter.vms()
  if (first === undefined || second === undefined) throw new Error('the simulator lacks machines')
  return {
    vCenter,
    inventory,
    start,
    first: first.uuid,
    second: second.uuid,
    change(text: string) {
      current = new Secret(text)
      inventory.passwordChanged()
    },
    zoneOf: (uuid: string) => vmsOf(inventory.lookup(uuid))?.[0]?.ancestry?.compute[1]?.tags[0]?.name,
    tried: async (text: string) => (await vCenter.logins()).filter((login) => login.password === text).length,
  }
}

t.test('while the former is being refused: the new one is taken, the former not again', async (t) => {
  const { vCenter, inventory, start, first, change, zoneOf, tried } = await open(t, {
    password: 'new',
    configured: 'former',
  })
  await vCenter.fault({ operation: 'Login', kind: 'delay', milliseconds: 600, times: 1 })
  inventory.follow(first)
  start()
  await until('the login is under way', async () => (await vCenter.calls()).operations.Login === 1)
  change('new')
  await until('its VM and zone', () => zoneOf(first) === 'a')
  t.equal(await tried('former'), 1)
  t.equal(inventory.failure(), undefined)
})

t.test('when tags alone need a login: the new one is taken, with the SOAP session as it was', async (t) => {
  const { vCenter, inventory, start, first, second, change, zoneOf, tried } = await open(t, {
    password: 'former',
    configured: 'former',
  })
  inventory.follow(first)
  start()
  await until('its zone', () => zoneOf(first) === 'a')
  await vCenter.setPassword('new')
  const [association] = Object.keys((await vCenter.calls()).operations).filter((name) =>
    name.includes('tag-association'),
  )
  if (association === undefined) throw new Error('no tags were read')
  await vCenter.fault({ operation: association, kind: 'status', status: 401, times: 1 })
  inventory.follow(second)
  await until('the former is refused', async () => (await tried('former')) === 3)
  await until('tags are named as unreadable', () => {
    const [vm] = vmsOf(inventory.lookup(second)) ?? []
    return vm?.ancestry?.unreadable.some((why) => /refuses the user/.test(why))
  })
  change('new')
  await until('its zone', () => zoneOf(second) === 'b')
  t.equal(await tried('former'), 3, 'by SOAP, by REST, and refused once')
  t.equal(await tried('new'), 1)
  t.equal((await vCenter.calls()).operations.Login, 1)
})

t.test('refused while the identity source is away: it heals by itself', async (t) => {
  const timings = { ...QUICK, refusedLogin: { base: 2_000, max: 2_000 } }
  const options = { password: 'same', configured: 'same', timings }
  const { vCenter, inventory, start, first, zoneOf } = await open(t, options)
  const away = await vCenter.fault({ operation: 'Login', kind: 'fault', fault: 'InvalidLogin' })
  inventory.follow(first)
  start()
  const failure = await until('it is refused', () => inventory.failure())
  t.match(failure, {
    reason: 'InvalidLogin',
    message: /will be retried at \d\d:\d\d UTC so that the account is not locked out/,
  })
  await vCenter.clearFaults(away)
  await until('its VM and zone', () => zoneOf(first) === 'a')
  t.equal(inventory.failure(), undefined)
})

t.test('REST refuses what SOAP accepts: tags come as soon as it does no more', async (t) => {
  const timings = { ...QUICK, refusedREST: { base: 1_000, max: 1_000 } }
  const options = { password: 'same', configured: 'same', timings }
  const { vCenter, inventory, start, first, zoneOf, tried } = await open(t, options)
  const operation = 'REST POST /rest/com/vmware/cis/session'
  const refused = await vCenter.fault({ operation, kind: 'status', status: 401 })
  inventory.follow(first)
  start()
  await until('tags are named as unreadable', () => {
    const [vm] = vmsOf(inventory.lookup(first)) ?? []
    return vm?.ancestry?.unreadable.some((why) =>
      /REST interface; will be retried at \d\d:\d\d UTC so that the account is not locked out.*SOAP accepts it/.test(
        why,
      ),
    )
  })
  t.equal(inventory.failure(), undefined, 'the vCenter is well')
  await vCenter.clearFaults(refused)
  await until('its zone', () => zoneOf(first) === 'a')
  t.equal(await tried('same'), 2, 'once by SOAP, once by REST: the other never got there')
})
