import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { aborted, firstAnswer } from './tasks.ts'

await t.test('aborted: waits for the signal, and not for one that has come', async (t) => {
  const stop = new AbortController()
  let resolved = false
  const waiting = aborted(stop.signal).then(() => {
    resolved = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(resolved, false)
  stop.abort()
  await waiting
  await aborted(stop.signal)
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
