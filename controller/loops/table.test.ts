import t from 'tap'
import { file, load } from '../config/testing/load.ts'
import { chooseControllers } from '../cpi/arguments/node-flags.ts'
import { LOOPS, ownControllers } from './table.ts'

const given = { initializes: true, endsNodes: true, nodeLabels: {} }
const SOMEBODYS = ['service-lb-controller', 'node-route-controller']

t.test('--controllers knows the names in the table, and warns of those that no loop does', async (t) => {
  const names = LOOPS.flatMap(({ controllers }) => Object.keys(controllers))
  t.ok(names.length >= 2)
  for (const name of [...names, ...SOMEBODYS]) {
    const chosen = chooseControllers([[name]])
    if (!chosen.ok) throw new Error(chosen.message)
    t.equal(chosen.value.warnings.length, names.includes(name) ? 0 : 1, name)
  }
})

t.test('what is turned off is the work of another', async (t) => {
  const own = async (rest: string, changes = {}) => {
    const { config } = await load(file('', rest), {}, {}, { ...given, ...changes })
    return ownControllers(config)
  }
  t.same(await own(''), { node: true, lifecycle: true })
  t.same(await own('', { initializes: false }), { node: false, lifecycle: true })
  t.same(await own('', { endsNodes: false }), { node: true, lifecycle: false })
  t.same(
    await own('lifecycle:\n  deletion: off'),
    { node: true, lifecycle: true },
    'the shutdown taint is left',
  )
})
