import t from 'tap'
import { MUTATIONS } from './mutations/all.ts'
import { tryMutation } from './mutations/try.ts'
import { shrink } from './shrink.ts'

t.test('leaves out what is not needed', async (t) => {
  const numbers = Array.from({ length: 20 }, (_, index) => index)
  const rows: [what: string, needed: readonly number[]][] = [
    ['nothing', []],
    ['one', [13]],
    ['two far apart', [0, 19]],
    ['some', [3, 4, 11]],
    ['all', numbers],
  ]
  for (const [what, needed] of rows) {
    const left = await shrink(numbers, async (some) => needed.every((each) => some.includes(each)))
    t.same(left, needed, what)
  }
})

t.test('one may do instead of another', async (t) => {
  const left = await shrink([1, 2, 3, 4], async (some) => some.includes(1) || some.includes(3))
  t.equal(left.length, 1)
})

t.test('finds the few faults that a broken promise takes, and the same run again by them', async (t) => {
  const mutation = MUTATIONS.find(({ name }) => name === 'precondition NodeNotReady')
  t.ok(mutation)
  if (mutation === undefined) return
  const { caught, failure } = await tryMutation(mutation, { seed: 1, steps: 600_000, shrinks: true })
  t.equal(failure, undefined)
  const { seed, step, promise, faults = [], begun = 0 } = caught ?? {}
  t.ok(faults.length > 0, 'faults are named')
  t.ok(faults.length < begun, `${faults.length} of ${begun} are enough`)
  const again = await tryMutation(mutation, { seed: seed ?? 0, steps: 1, only: faults })
  t.match(again.caught, { seed, step, promise })
  for (const left of faults) {
    const only = faults.filter((id) => id !== left)
    const { caught } = await tryMutation(mutation, { seed: seed ?? 0, steps: 1, only })
    t.not(caught?.promise, promise, `without ${left} it holds`)
  }
})
