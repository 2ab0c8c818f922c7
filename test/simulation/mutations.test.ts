import t from 'tap'
import { MUTATIONS } from './mutations/all.ts'
import { NOTICED_IN } from './mutations/scenes.ts'
import { tryMutation } from './mutations/try.ts'
import { failsIn } from './mutations/try-scene.ts'
import { simulate } from './run.ts'

/**
 * Those whose loss shows soonest, and the seed that shows each; `npm run simulate -- --mutations` tries all. When the world
 * has changed, a later seed shows it.
 */
const QUICK: Readonly<Record<string, number>> = {
  'precondition DeletionOn': 13,
  'precondition BrakeReleased': 20,
  'precondition Confirmed': 2,
  'precondition ConfirmedJustNow': 9,
  'precondition RateAllows': 23,
  'precondition NotDryRun': 4,
}
const STEPS = 600_000

t.test('code without a precondition is found out, and nothing but that', async (t) => {
  for (const [name, first] of Object.entries(QUICK)) {
    const mutation = MUTATIONS.find((each) => each.name === name)
    t.ok(mutation, name)
    if (mutation === undefined) continue
    const { caught, failure } = await tryMutation(mutation, { seed: first, steps: STEPS })
    t.ok(caught, failure ?? name)
    if (caught === undefined) continue
    const { violation } = await simulate(caught.seed, { until: caught.time })
    t.equal(violation, undefined, `seed ${caught.seed} with ${name}`)
  }
})

t.test('a fixed scene fails on code without a rule that it holds', { jobs: 2 }, async (t) => {
  for (const [file, scenes] of Object.entries(NOTICED_IN))
    for (const [name, mutations] of Object.entries(scenes))
      for (const each of mutations)
        void t.test(`${name}: ${each}`, { buffered: true }, async (t) => {
          const mutation = MUTATIONS.find((other) => other.name === each)
          t.ok(mutation !== undefined && (await failsIn(mutation, { file, name })))
        })
})
