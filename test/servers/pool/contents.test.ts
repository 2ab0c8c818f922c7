import t from 'tap'
import { changedKeys, differences } from './contents.ts'

const wanted = new Map([
  ['/registry/b', 'as it was'],
  ['/registry/a', 'as it was'],
  ['/registry/d', 'as it was'],
])

t.test('what is left over, missing or changed, is told by its key', async (t) => {
  const found = new Map([
    ['/registry/d', 'as it was'],
    ['/registry/c', 'new'],
    ['/registry/b', 'another'],
  ])
  t.strictSame(differences(wanted, found), [
    '/registry/a is missing',
    '/registry/b was changed',
    '/registry/c is left over',
  ])
  t.strictSame(changedKeys(wanted, found), ['/registry/a', '/registry/b', '/registry/c'])
})

t.test('nothing is told of what is as it was', async (t) => {
  t.strictSame(differences(wanted, new Map([...wanted].reverse())), [])
})
