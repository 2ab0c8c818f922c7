import t from 'tap'
import { didYouMean } from './did-you-mean.ts'

const words = ['server', 'port', 'user', 'password', 'insecureFlag', 'datacenters']
const cases: readonly [string, string | undefined][] = [
  ['prot', 'port'],
  ['serever', 'server'],
  ['sever', 'server'],
  ['passwrod', 'password'],
  ['PassWord', 'password'],
  ['datacenter', 'datacenters'],
  ['data-centers', 'datacenters'],
  ['users', 'user'],
  ['insecureFlags', 'insecureFlag'],
  ['pasw', undefined],
  ['p', undefined],
  ['', undefined],
  ['storagePolicy', undefined],
  ['x'.repeat(100_000), undefined],
]
for (const [word, expected] of cases) t.equal(didYouMean(word, words), expected, word.slice(0, 20))

t.equal(didYouMean('cat', ['cart', 'cat']), 'cat', 'the nearest wins, wherever it stands')
t.equal(didYouMean('vcenter', []), undefined)
t.equal(didYouMean('of', ['on', 'dry-run', 'off']), undefined, 'no advice where it may be the opposite')
