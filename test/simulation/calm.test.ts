import t from 'tap'
import { CALM_RUNS, simulateCalm } from './calm.ts'

const SEEDS = 2

for (const calm of CALM_RUNS)
  t.test(`${calm.name}: ${calm.gracePeriod} ms`, async (t) => {
    let deletions = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violation, ...counted } = await simulateCalm(seed, calm)
      t.equal(violation, undefined, `seed ${seed}`)
      deletions += counted.deletions
    }
    t.ok(deletions > 0, 'Rollcall deletes some of them')
  })
