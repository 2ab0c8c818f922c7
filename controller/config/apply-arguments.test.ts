import t from 'tap'
import type { GivenArguments } from './overrides.ts'
import { file, load } from './testing/load.ts'

const ALL: GivenArguments = { initializes: true, endsNodes: true, nodeLabels: {} }

async function read(rest: string, given?: GivenArguments) {
  const { config, warnings, requireGiven } = await load(file('', rest), {}, {}, given)
  return { ...config, warnings, requireGiven }
}

t.test('a file that does not say how much a Node must prove', async (t) => {
  const plain = await read('')
  t.equal(plain.identity.require, 'reported')
  t.equal(plain.requireGiven, false)
  t.same(plain.warnings, [])
  const cpi = await read('', ALL)
  t.equal(cpi.identity.require, 'asserted')
  t.equal(cpi.requireGiven, true)
  t.match(cpi.warnings, [
    /^command line: identity\.require: is not set, .*"require: reported" under "identity"$/,
    /^command line: identity\.require: is for migration only/,
  ])
  const said = await read('identity: {require: proven}', ALL)
  t.equal(said.identity.require, 'proven')
  t.equal(said.requireGiven, true)
  t.same(said.warnings, [])
})

t.test('without the lifecycle controller no Node is deleted or tainted', async (t) => {
  const given = { ...ALL, endsNodes: false }
  const plain = await read('identity: {require: proven}', given)
  t.match(plain.lifecycle, { deletion: 'off', shutdownTaint: false, outOfServiceAfter: undefined })
  t.same(plain.warnings, [])
  const both = await read(
    'identity: {require: proven}\nlifecycle: {deletion: dry-run, shutdownTaint: true, outOfServiceAfter: 10m}',
    given,
  )
  t.match(both.lifecycle, { deletion: 'off', shutdownTaint: false, outOfServiceAfter: undefined })
  t.same(
    both.warnings.map((warning) => /overrides (\S+)/.exec(warning)?.[1]),
    ['lifecycle.deletion', 'lifecycle.shutdownTaint', 'lifecycle.outOfServiceAfter'],
  )
  t.match((await read('', ALL)).lifecycle, { deletion: 'on', shutdownTaint: true })
})

t.test('what the command line alone can say', async (t) => {
  t.same((await read('')).initialization, { on: true, labels: {} })
  const given = { ...ALL, initializes: false, nodeLabels: { a: 'b' } }
  t.same((await read('', given)).initialization, { on: false, labels: { a: 'b' } })
})
