import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { heldBytes } from '../../../test/fixtures/heap.ts'
import { fakeSoap } from '../testing/fake-connection.ts'
import { TIMINGS } from '../timings.ts'
import { createAllVMs, createLocator } from './locate.ts'
import { createPropertyReader } from './retrieve-properties.ts'
import { createCollectors } from './session-objects.ts'

const { signal } = new AbortController()
const object = (type: string) => ({ type, value: type })

/** A vCenter whose searches find one VM, and whose sweeps find one for each of these UUIDs. */
function setUp(swept: readonly string[] = []) {
  const content = {
    instanceUUID: 'i',
    rootFolder: object('Folder'),
    viewManager: object('ViewManager'),
    propertyCollector: object('PropertyCollector'),
    searchIndex: object('SearchIndex'),
    sessionManager: object('SessionManager'),
    authorizationManager: object('AuthorizationManager'),
  }
  const vm = '<returnval type="VirtualMachine">vm</returnval>'
  const soap = fakeSoap(({ operation }) => {
    if (operation === 'FindAllByUuid') return vm
    if (operation === 'RetrievePropertiesEx')
      return `<returnval>${swept.map(objectWith).join('')}</returnval>`
    if (operation === 'CreatePropertyCollector') return '<returnval type="PropertyCollector">made</returnval>'
    return operation === 'CreateContainerView' ? '<returnval type="ContainerView">view</returnval>' : ''
  })
  const clock = createHandClock()
  const { propertyCollector } = content
  const collectors = createCollectors({ soap, propertyCollector, timings: TIMINGS })
  const reader = createPropertyReader({
    soap,
    collectors,
    alive: () => Promise.resolve(),
    timings: TIMINGS,
    clock,
  })
  const allVMs = createAllVMs({ soap, content, timings: TIMINGS })
  const locator = createLocator({ soap, reader, allVMs, content, timings: TIMINGS, clock })
  const count = (operation: string) => soap.calls.filter((call) => call.operation === operation).length
  return { clock, locator, count, calls: soap.calls }
}

function objectWith(uuid: string): string {
  return `<objects><obj type="VirtualMachine">vm of ${uuid}</obj><propSet><name>config.uuid</name><val>${uuid}</val></propSet></objects>`
}

t.test('what is in doubt is searched for, all else answered from the last sweep', async (t) => {
  const uuids = Array.from({ length: 20 }, (_, i) => `u-${i}`)
  const { locator, count } = setUp(uuids)
  await locator.locate(uuids, signal)
  locator.forget(['u-3', 'u-4'])
  t.equal((await locator.locate(uuids, signal)).size, 20)
  t.equal(count('RetrievePropertiesEx'), 1)
  t.equal(count('FindAllByUuid'), 2)
})

t.test('Nodes that keep changing their UUIDs cost one sweep per age of the index', async (t) => {
  const { clock, locator, count } = setUp()
  let serial = 0
  let waiting: string[] = []
  for (let at = 0; at < 60_000; at += 1_500) {
    waiting = [...waiting.slice(0, 9), ...Array.from({ length: 9 }, () => `u-${serial++}`)]
    const located = await locator.locate(waiting, signal)
    t.ok(located.size >= 8)
    waiting = waiting.filter((uuid) => !located.has(uuid))
    locator.forget(waiting)
    await clock.turn(1_500)
  }
  t.equal(count('RetrievePropertiesEx'), 2)
  t.ok(count('FindAllByUuid') <= 8 * 40)
})

t.test('a sweep that is too old to answer is not kept', async (t) => {
  const uuids = Array.from({ length: 5_000 }, (_, i) => `u-${i}`)
  const { clock, locator, count, calls } = setUp(uuids)
  await locator.sweep(signal)
  locator.dropOld()
  t.equal((await locator.locate(uuids, signal)).size, 5_000)
  t.equal(count('FindAllByUuid'), 0, 'it answers for a while')
  calls.length = 0
  await clock.turn(TIMINGS.indexAge)
  const before = heldBytes()
  locator.dropOld()
  const freed = (before - heldBytes()) / uuids.length
  t.ok(freed > 50, `${Math.round(freed)} bytes for each`)
  t.equal((await locator.locate(['u-1'], signal)).size, 1)
})

t.test('a sweep keeps nothing that is no UUID, however long it is', async (t) => {
  const long = 'f'.repeat(37)
  const found = await setUp(['u', long]).locator.sweep(signal)
  t.same([...(found?.keys() ?? [])], ['u'])
})

t.test('a sweep whose view is gone is to fail, and a VM that is told twice is one', async (t) => {
  const { locator, calls } = setUp(['u', 'u'])
  t.same(await locator.sweep(signal), new Map([['u', ['vm of u']]]))
  const read = calls.find(({ operation }) => operation === 'RetrievePropertiesEx')
  t.match(read?.parameters, '<obj type="ContainerView">view</obj>')
  t.notMatch(read?.parameters, 'reportMissingObjectsInResults')
})
