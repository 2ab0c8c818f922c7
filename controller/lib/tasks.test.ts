import { getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { aborted, eachOf, firstAnswer, follow, untilAborted, waitUntil } from './tasks.ts'

await t.test('aborted: waits for the signal, and not for one that has come', async (t) => {
  const stop = new AbortController()
  let resolved = false
  const waiting = aborted(stop.signal).then(() => {
    resolved = true
  })
  await setImmediate()
  t.equal(resolved, false)
  stop.abort()
  await waiting
  await aborted(stop.signal)
})

t.test('untilAborted: gives the result, or up, and leaves no listener behind', async (t) => {
  const end = new AbortController()
  t.equal(await untilAborted(Promise.resolve('done'), end.signal), 'done')
  await t.rejects(untilAborted(Promise.reject(new Error('failed')), end.signal), { message: 'failed' })
  t.equal(getEventListeners(end.signal, 'abort').length, 0)
  const something = Promise.withResolvers<string>()
  const waiting = untilAborted(something.promise, end.signal)
  end.abort('over')
  await t.rejects(
    waiting.catch((reason) => Promise.reject(new Error(reason))),
    { message: 'over' },
  )
  // What was given up goes on, and its failure is nobody's any more.
  something.reject(new Error('too late'))
  await t.rejects(
    untilAborted(new Promise(() => undefined), end.signal).catch((reason) =>
      Promise.reject(new Error(reason)),
    ),
    { message: 'over' },
    'one that has aborted before',
  )
  t.equal(getEventListeners(end.signal, 'abort').length, 0)
})

t.test('firstAnswer: takes the first answer there is, and stops what gives it', async (t) => {
  const clock = createHandClock()
  let answer: string | undefined
  let stopped = 0
  const run = async (signal: AbortSignal) => {
    await aborted(signal)
    stopped++
  }
  const { signal } = new AbortController()
  const inTime = firstAnswer(run, () => answer, 1_000, clock, signal)
  await clock.turn(500)
  t.equal(stopped, 0)
  answer = 'yes'
  await clock.turn(100)
  t.equal(await inTime, 'yes')

  answer = undefined
  const late = firstAnswer(run, () => answer, 1_000, clock, signal)
  await clock.turn(2_000)
  t.equal(await late, undefined, 'the time is over')
  const broken = async () => {
    throw new Error('broken')
  }
  await t.rejects(
    firstAnswer(broken, () => answer, 1_000, clock, signal),
    { message: 'broken' },
    'nothing will give one',
  )
  t.equal(stopped, 2)
})

t.test('waitUntil: the time does not run while something else has its own limit', async (t) => {
  const clock = createHandClock()
  let held = false
  let ended = false
  const { signal } = new AbortController()
  const waiting = waitUntil(() => false, { within: 1_000, held: () => held, clock }, signal).then(() => {
    ended = true
  })
  await clock.turn(600)
  held = true
  for (let i = 0; i < 5; i++) await clock.turn(1_000)
  held = false
  await clock.turn(300)
  t.equal(ended, false)
  await clock.turn(200)
  await waiting
  t.equal(ended, true)
})

t.test('each item is processed, a few at once; after a failure no more are begun', async (t) => {
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const begun: number[] = []
  const all = eachOf(
    [0, 1, 2, 3, 4],
    async (item) => {
      begun.push(item)
      await gates[item]?.promise
    },
    { atOnce: 2 },
  )
  t.same(begun, [0, 1])
  gates[1]?.resolve()
  await setImmediate()
  t.same(begun, [0, 1, 2])
  gates[0]?.reject(new Error('first'))
  let ended = false
  const failed = t.rejects(all, { message: 'first' }).then(() => {
    ended = true
  })
  await setImmediate()
  t.notOk(ended)
  gates[2]?.resolve()
  await failed
  t.same(begun, [0, 1, 2])
  await eachOf([], () => Promise.reject(new Error('never')), { atOnce: 2 })
})

const { signal } = new AbortController()
const same = (a: string, b: string) => a === b

t.test('follow: says what has changed, and complains once of what cannot be seen', async (t) => {
  let there: string | Error = 'a'
  const told: string[] = []
  const look = follow('a', {
    look: () => {
      if (there instanceof Error) throw there
      return there
    },
    same,
    onChange(found) {
      told.push(found)
      return found
    },
    onFailing: (cause) => told.push(`not seen: ${cause}`),
  })
  for (there of ['a', 'b', new Error('gone'), new Error('gone'), 'b', new Error('gone'), 'a'])
    await look(signal)
  t.same(told, ['b', 'not seen: gone', 'not seen: gone', 'a'])
  there = new Error('end')
  await look(AbortSignal.abort())
  t.equal(told.length, 4, 'not of a look that was told to end')
})

t.test('follow: half of a change does not count, and what it counts as may be something else', async (t) => {
  let there = 'a'
  const told: string[] = []
  const look = follow('a', {
    look: () => there,
    same,
    settles: true,
    onChange(found) {
      told.push(found)
      return found === 'c' ? 'd' : found
    },
  })
  for (there of ['b', 'c', 'c', 'd', 'd', 'e', 'd', 'e', 'e']) await look(signal)
  t.same(told, ['c', 'e'])
})

t.test('follow: ends with the failure where nobody is told of it', async (t) => {
  const look = follow('a', {
    look: () => Promise.reject(new Error('gone')),
    same,
    onChange: (found) => found,
  })
  await t.rejects(look(signal), { message: 'gone' })
})
