import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { collectGarbage } from '../../test/fixtures/heap.ts'
import { anySignal } from './any-signal.ts'

/** Aborts a signal that only the one made of it depends on. */
function abortedWhile(make: (signals: readonly AbortSignal[]) => AbortSignal): AbortSignal {
  const source = new AbortController()
  const either = make([source.signal, new AbortController().signal])
  source.abort('over')
  return either
}

t.test('an abort is not forgotten when its source is collected', async (t) => {
  const either = abortedWhile(anySignal)
  const nested = abortedWhile((signals) => anySignal([anySignal(signals)]))
  await setImmediate()
  collectGarbage()
  t.equal(either.aborted, true)
  t.equal(either.reason, 'over')
  t.equal(nested.aborted, true)
})

t.test('listeners are called', async (t) => {
  const source = new AbortController()
  let calls = 0
  anySignal([source.signal]).addEventListener('abort', () => calls++)
  await setImmediate()
  collectGarbage()
  source.abort()
  t.equal(calls, 1)
})
