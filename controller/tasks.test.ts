import t from 'tap'
import { aborted } from './tasks.ts'

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
