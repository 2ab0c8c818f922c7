import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createTurns } from './turns.ts'

function setUp() {
  const takeTurns = createTurns()
  const begun: string[] = []
  const take = (name: string, what: string, signal = new AbortController().signal) => {
    const work = Promise.withResolvers<string>()
    const turn = takeTurns(
      name,
      () => {
        begun.push(what)
        return work.promise
      },
      signal,
    )
    return { turn, end: () => work.resolve(what), fail: () => work.reject(new Error(what)) }
  }
  return { begun, take }
}

t.test('one after the other, whatever becomes of them; other names do not wait', async (t) => {
  const { begun, take } = setUp()
  const [a, b, c, other] = [take('x', 'a'), take('x', 'b'), take('x', 'c'), take('y', 'other')]
  await setImmediate()
  t.same(begun, ['a', 'other'])
  a.fail()
  await t.rejects(a.turn, { message: 'a' })
  await setImmediate()
  t.same(begun, ['a', 'other', 'b'])
  b.end()
  t.equal(await b.turn, 'b')
  await setImmediate()
  t.same(begun, ['a', 'other', 'b', 'c'])
  c.end()
  other.end()
  t.same(await Promise.all([c.turn, other.turn]), ['c', 'other'])
})

t.test('one that is told to end does not wait, and lets nobody pass', async (t) => {
  const { begun, take } = setUp()
  const abort = new AbortController()
  const [a, b, c] = [take('x', 'a'), take('x', 'b', abort.signal), take('x', 'c')]
  abort.abort()
  await t.rejects(b.turn, { name: 'AbortError' })
  await setImmediate()
  t.same(begun, ['a'])
  a.end()
  await a.turn
  await setImmediate()
  t.same(begun, ['a', 'c'])
  c.end()
  await c.turn
})
