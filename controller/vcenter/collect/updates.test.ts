import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { fakeSoap } from '../testing/fake-soap.ts'
import { TIMINGS } from '../timings.ts'
import { TooLongError } from '../wire/errors.ts'
import { openUpdates } from './updates.ts'

const object = (type: string) => ({ type, value: type })
const content = {
  instanceUUID: 'i',
  rootFolder: object('Folder'),
  viewManager: object('ViewManager'),
  propertyCollector: object('PropertyCollector'),
  searchIndex: object('SearchIndex'),
  sessionManager: object('SessionManager'),
  authorizationManager: object('AuthorizationManager'),
}

const CHANGE =
  '<filterSet><objectSet><kind>leave</kind><obj type="VirtualMachine">vm-1</obj></objectSet></filterSet>'

/** How many polls a server costs in ten seconds that answers each at once. */
async function pollsInTenSeconds(answer: (poll: number) => string) {
  const clock = createHandClock()
  const end = new AbortController()
  let polls = 0
  const soap = fakeSoap(({ operation }) => {
    if (operation !== 'WaitForUpdatesEx') return '<returnval type="X">x</returnval>'
    return answer(polls++)
  })
  const paths = ['config.uuid']
  const updates = await openUpdates({ soap, content, paths, timings: TIMINGS, clock, signal: end.signal })
  let taken = 0
  const running = updates.run((list) => {
    taken += list.length
  }, end.signal)
  await clock.turn(10_000)
  end.abort()
  await running.catch((error: unknown) => t.equal(error, end.signal.reason))
  return { polls, taken }
}

const set = (inside: string) => `<returnval><version>1</version>${inside}</returnval>`

t.test('a server that answers at once is asked at a pace', async (t) => {
  const { polls: nothing } = await pollsInTenSeconds(() => '')
  t.ok(nothing >= 9 && nothing <= 11, `${nothing} polls without an answer`)
  const { polls: empty } = await pollsInTenSeconds(() => set(''))
  t.ok(empty >= 9 && empty <= 11, `${empty} empty polls`)
  const { polls: truncated } = await pollsInTenSeconds(() => set('<truncated>true</truncated>'))
  t.ok(truncated >= 9 && truncated <= 11, `${truncated} polls that are empty and truncated`)
  const { polls: changes, taken } = await pollsInTenSeconds(() => set(CHANGE))
  t.ok(changes >= 39 && changes <= 41, `${changes} polls with changes`)
  t.equal(taken, changes)
})

t.test('the rest of a truncated answer is fetched at once', async (t) => {
  const { polls } = await pollsInTenSeconds((poll) =>
    set(poll < 20 ? `<truncated>true</truncated>${CHANGE}` : CHANGE),
  )
  t.ok(polls >= 59 && polls <= 61, `${polls} polls`)
})

t.test('what is too long is asked for again in smaller pieces, from the beginning', async (t) => {
  const versions: string[] = []
  const soap = fakeSoap(({ operation, parameters = '' }) => {
    if (operation !== 'WaitForUpdatesEx') return '<returnval type="X">x</returnval>'
    versions.push(
      `${/<version>(.*)<\/version>/.exec(parameters)?.[1]}/${/<maxObjectUpdates>(\d+)/.exec(parameters)?.[1]}`,
    )
    if (versions.length === 2) throw new TooLongError('too long', 63)
    return set(CHANGE)
  })
  const clock = createHandClock()
  const end = new AbortController()
  const { signal } = end
  const updates = await openUpdates({ soap, content, paths: [], timings: TIMINGS, clock, signal })
  const running = updates.run(() => {}, signal)
  await clock.turn(700)
  end.abort()
  await running.catch((error: unknown) => t.equal(error, signal.reason))
  t.same(versions, ['/500', '1/500', '/31', '1/31'])
  t.same(
    soap.calls.map((call) => call.operation).filter((operation) => operation !== 'WaitForUpdatesEx'),
    [
      'CreateListView',
      'CreatePropertyCollector',
      'CreateFilter',
      'DestroyPropertyCollector',
      'CreatePropertyCollector',
      'CreateFilter',
    ],
  )
})

t.test('truncated answers without end are fetched at a pace', async (t) => {
  const { polls } = await pollsInTenSeconds(() => set(`<truncated>true</truncated>${CHANGE}`))
  t.ok(polls >= 138 && polls <= 142, `${polls} polls`)
})
