import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { TIMINGS } from '../timings.ts'
import { SoapFault, UnansweredError, VCenterError } from '../wire/errors.ts'
import { createQuarantine } from './quarantine.ts'

const names = (count: number) => Array.from({ length: count }, (_, i) => `vm-${i}`)
const late = () => new UnansweredError(new VCenterError('TimedOut', 'late'))

/** Holds so many objects after one call about all of them; a call about a bad one takes as long as it may. */
function setUp(count: number, isBad: (object: string) => boolean) {
  const clock = createHandClock()
  const calls: { readonly at: number; readonly objects: number }[] = []
  const news: string[] = []
  const onNews = (keys: readonly string[]) => void news.push(...keys)
  const quarantine = createQuarantine({ onNews, timings: TIMINGS, clock, random: () => 1 })
  quarantine.hold({
    objects: names(count),
    keyOf: String,
    error: late(),
    async ask(objects, deadline, signal) {
      calls.push({ at: clock.monotonic(), objects: objects.length })
      if (!objects.some(isBad)) return
      await clock.sleep(deadline, signal)
      throw late()
    },
  })
  const stop = new AbortController()
  return { clock, calls, news, quarantine, stop, running: quarantine.run(stop.signal) }
}

t.test('one bad object of a thousand is found by few calls, and most others are free at once', async (t) => {
  for (const bad of ['vm-0', 'vm-617', 'vm-999']) {
    const { clock, calls, news, quarantine, stop, running } = setUp(1_000, (object) => object === bad)
    t.match(quarantine.held('vm-3'), { alone: false })
    t.ok(quarantine.isSearching())
    await clock.turn(0)
    t.equal(news.length, 750)
    await clock.turn(5 * TIMINGS.callDeadline)
    t.same([...news].sort(), names(1_000).sort(), bad)
    t.notOk(quarantine.isSearching())
    t.match(quarantine.held(bad), { alone: true, error: { message: 'late' } })
    t.equal(quarantine.held('vm-1'), undefined)
    t.ok(calls.length <= 20, `${calls.length} calls`)
    stop.abort()
    await running
  }
})

t.test('it is asked again after growing delays, until it is answered, be it by a fault', async (t) => {
  for (const answer of ['all', 'fault'] as const) {
    const clock = createHandClock()
    const times: number[] = []
    let isWell = false
    const timings = { ...TIMINGS, unanswered: { base: 60_000, max: 240_000 } }
    const quarantine = createQuarantine({ onNews: () => undefined, timings, clock, random: () => 1 })
    const ask = async () => {
      times.push(clock.monotonic())
      if (!isWell) throw late()
      if (answer === 'fault') throw new SoapFault('SystemError', '')
    }
    quarantine.hold({ objects: ['vm-1'], keyOf: String, error: late(), ask })
    t.match(quarantine.held('vm-1'), { alone: true }, 'no other was asked for with it')
    const stop = new AbortController()
    const running = quarantine.run(stop.signal)
    await clock.turn(700_000)
    t.same(times, [60_000, 180_000, 420_000, 660_000])
    isWell = true
    await clock.turn(240_000)
    t.equal(quarantine.held('vm-1'), undefined)
    await clock.turn(3_600_000)
    t.equal(times.length, 5)
    stop.abort()
    await running
  }
})

t.test('where none of many calls is answered it is vCenter', async (t) => {
  const { clock, calls, running } = setUp(1_000, () => true)
  const failed = t.rejects(running, { name: 'UnansweredError', reason: 'TimedOut' })
  await clock.turn(10 * TIMINGS.callDeadline)
  await failed
  t.ok(calls.length <= 20, `${calls.length} calls`)
})

t.test('many bad objects are found, although no call about many is answered', async (t) => {
  for (const each of [40, 15]) {
    const isBad = (object: string) => Number(object.slice(3)) % each === 0
    const { clock, news, quarantine, stop, running } = setUp(1_000, isBad)
    await clock.turn(200 * TIMINGS.callDeadline)
    t.equal(new Set(news).size, 1_000)
    t.same(
      names(1_000).filter((object) => quarantine.held(object) !== undefined),
      names(1_000).filter(isBad),
    )
    stop.abort()
    await running
  }
})

t.test('a few bad objects are found, wherever they are', async (t) => {
  const bad = new Set(['vm-1', 'vm-2', 'vm-3', 'vm-300', 'vm-600', 'vm-900'])
  const { clock, news, quarantine, stop, running } = setUp(1_000, (object) => bad.has(object))
  await clock.turn(40 * TIMINGS.callDeadline)
  t.equal(new Set(news).size, 1_000)
  t.same(
    names(1_000).filter((object) => quarantine.held(object) !== undefined),
    [...bad],
  )
  stop.abort()
  await running
})
