import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { fakeSoap } from '../testing/fake-soap.ts'
import { TIMINGS } from '../timings.ts'
import { createLocator } from './locate.ts'
import { createPropertyReader } from './properties.ts'

const { signal } = new AbortController()
const object = (type: string) => ({ type, value: type })

/** A vCenter whose searches find so many VMs, and whose sweeps find none. */
function setUp(found = 1) {
  const content = {
    instanceUUID: 'i',
    rootFolder: object('Folder'),
    viewManager: object('ViewManager'),
    propertyCollector: object('PropertyCollector'),
    searchIndex: object('SearchIndex'),
    sessionManager: object('SessionManager'),
  }
  const vm = '<returnval type="VirtualMachine">vm</returnval>'
  const soap = fakeSoap(({ operation }) => {
    if (operation === 'FindAllByUuid') return vm.repeat(found)
    return operation === 'CreateContainerView' ? '<returnval type="ContainerView">view</returnval>' : ''
  })
  const clock = createHandClock()
  const reader = createPropertyReader({ soap, collector: content.propertyCollector, timings: TIMINGS, clock })
  const locator = createLocator({ soap, reader, content, timings: TIMINGS, clock })
  const count = (operation: string) => soap.calls.filter((call) => call.operation === operation).length
  return { clock, locator, count }
}

t.test('Nodes that keep changing their UUIDs cost one sweep per age of the index', async (t) => {
  const { clock, locator, count } = setUp()
  let serial = 0
  let waiting: string[] = []
  for (let at = 0; at < 60_000; at += 1_500) {
    waiting = [...waiting.slice(0, 9), ...Array.from({ length: 9 }, () => `u-${serial++}`)]
    const located = await locator.locate(waiting, signal)
    t.ok(located.size >= 8)
    waiting = waiting.filter((uuid) => !located.has(uuid))
    locator.forget()
    await clock.turn(1_500)
  }
  t.equal(count('RetrievePropertiesEx'), 2)
  t.ok(count('FindAllByUuid') <= 8 * 40)
})

t.test('more VMs than can be a mistake are no answer', async (t) => {
  t.match((await setUp(64).locator.locate(['u'], signal)).get('u'), { fresh: true })
  t.match((await setUp(65).locator.locate(['u'], signal)).get('u'), {
    error: { reason: 'MalformedAnswer', message: /65 VMs have the UUID u/ },
  })
})
