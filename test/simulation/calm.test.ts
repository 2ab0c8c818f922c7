import t from 'tap'
import { CALM_RUNS, simulateCalm } from './calm.ts'

const SEEDS = 3

for (const calm of CALM_RUNS)
  t.test(`${calm.name}: ${calm.gracePeriod} ms`, async (t) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violation, deletions } = await simulateCalm(seed, calm)
      t.equal(violation, undefined, `seed ${seed}`)
      t.ok(deletions >= calm.deletes, `${deletions} Nodes are deleted`)
    }
  })
