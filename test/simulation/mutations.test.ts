import { readFile } from 'node:fs/promises'
import t from 'tap'
import { MUTATIONS } from './mutations/all.ts'
import { mutate } from './mutations/mutation.ts'
import { tryMutation } from './mutations/try.ts'

/** Those whose loss shows soonest; `npm run simulate -- --mutations` tries all. */
const QUICK = [
  'precondition DeletionOn',
  'precondition BrakeReleased',
  'precondition Confirmed',
  'precondition ConfirmedJustNow',
  'precondition RateAllows',
  'precondition NotDryRun',
]
const STEPS = 600_000

t.test('every mutation still fits the code', async (t) => {
  for (const { name, edits } of MUTATIONS) {
    t.ok(edits.length > 0, name)
    for (const edit of edits) {
      const source = await readFile(new URL(`../../${edit.file}`, import.meta.url), 'utf8')
      t.not(mutate(source, edit), source, name)
    }
  }
})

t.test('code without a precondition is found out', async (t) => {
  for (const name of QUICK) {
    const mutation = MUTATIONS.find((each) => each.name === name)
    t.ok(mutation, name)
    if (mutation === undefined) continue
    const { caught, failure } = await tryMutation(mutation, { seed: 1, steps: STEPS })
    t.ok(caught, failure ?? name)
  }
})
