import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { fakeSoap } from '../testing/fake-connection.ts'
import { TIMINGS } from '../timings.ts'
import { SoapFault, UnansweredError } from '../wire/errors.ts'
import { createMembers } from './list-view.ts'
import { createQuarantine } from './quarantine.ts'

const listView = { type: 'ListView', value: 'list-1' }
const root = { type: 'Folder', value: 'group-d1' }
const { signal } = new AbortController()
const names = (count: number) => Array.from({ length: count }, (_, i) => `vm-${i + 1}`)

/** A list that refuses calls about these VMs; by default its fault names the root folder. */
function setUp(options: { fault?: string; named?: boolean } = {}) {
  const refused = new Set<string>()
  const onList = new Set<string>()
  const soap = fakeSoap(({ parameters = '' }) => {
    const changes = [...parameters.matchAll(/<(add|remove) type="VirtualMachine">([^<]+)</g)]
    const culprit = changes.find(([, , vm = '']) => refused.has(vm))?.[2]
    if (culprit !== undefined) {
      const object = options.named === true ? { type: 'VirtualMachine', value: culprit } : root
      throw new SoapFault(options.fault ?? 'NoPermission', '', object)
    }
    for (const [, kind, vm = ''] of changes) kind === 'add' ? onList.add(vm) : onList.delete(vm)
    return '<none/>'
  })
  return { members: createMembers({ soap, listView, timings: TIMINGS }), soap, refused, onList }
}

t.test('one call where nothing is refused, none where nothing changes', async (t) => {
  const { members, soap, onList } = setUp()
  t.same(await members.set(new Set(names(3)), signal), { unknown: [], changes: 3, unfinished: false })
  t.equal(await members.set(new Set(names(3)), signal), undefined)
  await members.set(new Set(['vm-2', 'vm-9']), signal)
  t.same([...onList].sort(), ['vm-2', 'vm-9'])
  t.equal(soap.calls.length, 2)
  t.equal(members.size(), 2)
})

t.test('one of a thousand that is refused leaves the others watched', async (t) => {
  for (const named of [true, false]) {
    const { members, soap, refused, onList } = setUp({ named })
    refused.add('vm-700')
    t.same(await members.set(new Set(names(1_000)), signal), {
      unknown: [],
      changes: 1_000,
      unfinished: false,
    })
    t.equal(onList.size, 999)
    t.equal(members.size(), 999)
    t.same([...members.refused().keys()], ['vm-700'])
    t.ok(soap.calls.length <= (named ? 2 : 22), `${soap.calls.length} calls`)
    const calls = soap.calls.length
    t.equal(await members.set(new Set(names(1_000)), signal), undefined, 'not tried each time')
    t.equal(soap.calls.length, calls)
  }
})

t.test('one that is gone is to be asked for', async (t) => {
  for (const named of [true, false]) {
    const { members, soap, refused } = setUp({ named, fault: 'ManagedObjectNotFound' })
    refused.add('vm-2')
    t.same(await members.set(new Set(names(4)), signal), { unknown: ['vm-2'], changes: 4, unfinished: false })
    const calls = soap.calls.length
    t.equal(await members.set(new Set(names(4)), signal), undefined, 'and not tried again at once')
    t.equal(soap.calls.length, calls)
    await members.set(new Set(['vm-1', 'vm-3', 'vm-4', 'vm-5']), signal)
    t.equal(members.refused().size, 0, 'forgotten when it is followed no more')
  }
})

t.test(
  'a whole folder that is refused: few calls at a time, and in the end all others are watched',
  async (t) => {
    for (const named of [true, false]) {
      const { members, soap, refused, onList } = setUp({ named })
      const wanted = new Set(names(600))
      for (let i = 100; i < 300; i++) refused.add(`vm-${i}`)
      let rounds = 0
      for (let unfinished = true; unfinished; rounds++) {
        const before = soap.calls.length
        unfinished = (await members.set(wanted, signal))?.unfinished ?? false
        t.ok(soap.calls.length - before <= 40, `${soap.calls.length - before} calls`)
        t.ok(rounds < 20, `${rounds} rounds`)
      }
      t.equal(onList.size, 400)
      t.equal(members.refused().size, 200)

      members.retryRefused()
      const before = soap.calls.length
      t.match(await members.set(wanted, signal), { unfinished: false })
      t.ok(soap.calls.length - before <= 40, 'few are tried again')
      t.equal(members.refused().size, 200)

      refused.clear()
      members.retryRefused()
      await members.set(wanted, signal)
      t.equal(onList.size, 600)
      t.equal(members.refused().size, 0)
    }
  },
)

t.test('one that cannot be taken off the list stays there unheeded', async (t) => {
  const { members, soap, refused, onList } = setUp()
  await members.set(new Set(names(4)), signal)
  refused.add('vm-3')
  t.same(await members.set(new Set(['vm-1']), signal), { unknown: [], changes: 3, unfinished: false })
  t.same([...onList].sort(), ['vm-1', 'vm-3'])
  t.notOk(members.has('vm-3'))
  const calls = soap.calls.length
  t.equal(await members.set(new Set(['vm-1']), signal), undefined)
  t.equal(soap.calls.length, calls)
})

t.test('what is wrong with the list or the session is thrown', async (t) => {
  const faults = [
    new SoapFault('ManagedObjectNotFound', '', listView),
    new SoapFault('NotAuthenticated', '', { type: 'VirtualMachine', value: 'vm-1' }),
  ]
  for (const fault of faults) {
    const soap = fakeSoap(() => {
      throw fault
    })
    const members = createMembers({ soap, listView, timings: TIMINGS })
    await t.rejects(members.set(new Set(names(4)), signal), fault)
    t.equal(soap.calls.length, 1)
  }
})

t.test('a member that vCenter has not told of is named once, when it had time', async (t) => {
  const { members } = setUp()
  await members.set(new Set(['vm-1', 'vm-2', 'vm-3']), signal)
  members.entered('vm-1')
  t.same(members.overdue(), [], 'it may still be told')
  await members.set(new Set(['vm-1', 'vm-2', 'vm-4']), signal)
  t.same(members.overdue(), ['vm-2'], 'one that is no member any more is not')
  t.same(members.overdue(), ['vm-4'])
  t.same(members.overdue(), [])
})

t.test('where many have not been told of, vCenter has not told all yet', async (t) => {
  const { members } = setUp()
  await members.set(new Set(names(150)), signal)
  for (let i = 0; i < 3; i++) t.same(members.overdue(), [])
  for (const vm of names(60)) members.entered(vm)
  t.equal(members.overdue().length, 90, 'the rest had time')
  t.same(members.overdue(), [])
})

t.test('nor one that vCenter tells of before it answers', async (t) => {
  const soap = fakeSoap(() => {
    members.entered('vm-1')
    return '<none/>'
  })
  const members = createMembers({ soap, listView, timings: TIMINGS })
  await members.set(new Set(['vm-1', 'vm-2']), signal)
  members.overdue()
  t.same(members.overdue(), ['vm-2'])
})

t.test('a member for which polls fail is taken off, and added again once its trial succeeds', async (t) => {
  const clock = createHandClock()
  const end = new AbortController()
  const onList = new Set<string>()
  const soap = fakeSoap(({ parameters = '' }) => {
    for (const [, kind, vm = ''] of parameters.matchAll(/<(add|remove) type="VirtualMachine">([^<]+)</g))
      kind === 'add' ? onList.add(vm) : onList.delete(vm)
    return '<none/>'
  })
  const quarantine = createQuarantine({
    onNews: (keys) => members.freed(keys),
    timings: TIMINGS,
    clock,
    random: () => 0.5,
  })
  const members = createMembers({ soap, listView, quarantine, timings: TIMINGS })
  const running = quarantine.run(end.signal)
  const wanted = new Set(names(3))
  await members.set(wanted, signal)
  const fault = new SoapFault('SystemError', '')
  let isBad = true
  let trials = 0
  const tryOut = async () => {
    trials++
    if (isBad) throw new UnansweredError(fault)
  }
  await members.exclude('vm-2', fault, tryOut, signal)
  await members.exclude('vm-9', fault, tryOut, signal)
  t.same([...onList], ['vm-1', 'vm-3'])
  t.same(members.all(), ['vm-1', 'vm-3'])
  t.same([...members.refused().keys()], ['vm-2'], 'not of one that is no member')
  await clock.turn(600_000)
  members.retryRefused()
  await members.set(wanted, signal)
  t.same([...onList], ['vm-1', 'vm-3'], 'as long as its trial fails')
  t.ok(trials > 1 && trials < 12, `${trials} trials in ten minutes`)
  isBad = false
  await clock.turn(3_600_000)
  await members.set(wanted, signal)
  t.same([...onList], ['vm-1', 'vm-3', 'vm-2'])
  t.same([...members.refused().keys()], [])
  const tried = trials
  await clock.turn(3_600_000)
  t.equal(trials, tried)
  end.abort()
  await running.catch((error: unknown) => t.equal(error, end.signal.reason))
})
