import t from 'tap'
import { atOnce } from '../../controller/loops/node/decide/lifecycle/brake.ts'
import { SETTINGS } from '../fixtures/facts.ts'
import { CALM_RUNS, STRICT, simulateCalm } from './calm.ts'
import { REPLACED_APART } from './faults/machines.ts'

const SEEDS = 3

t.test('no two workers that are replaced vanish at once, as docs/lifecycle.md has it', async (t) => {
  t.ok(REPLACED_APART > atOnce({ ...SETTINGS.lifecycle, ...STRICT }))
})

for (const calm of CALM_RUNS)
  t.test(`${calm.name}: ${calm.gracePeriod} ms`, async (t) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violation, deletions } = await simulateCalm(seed, calm)
      t.equal(violation, undefined, `seed ${seed}`)
      t.ok(deletions >= calm.deletes, `${deletions} Nodes are deleted`)
    }
  })
