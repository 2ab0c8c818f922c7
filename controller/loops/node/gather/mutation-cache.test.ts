import t from 'tap'
import { node } from '../../../../test/fixtures/facts.ts'
import type { Node } from '../../../types/node.ts'
import { createMutationCache } from './mutation-cache.ts'

const version = (resourceVersion: string, changes: Partial<Node> = {}): Node =>
  node({ resourceVersion, ...changes })

t.test('an own write covers the versions it was written over, and no other', async (t) => {
  let stored: Node | undefined = version('1')
  const cache = createMutationCache<Node>(() => stored)
  const second = version('2')
  const third = version('3')
  cache.wrote(version('1'), second)
  t.equal(cache.get('worker-1'), second)
  cache.wrote(second, third)
  t.equal(cache.get('worker-1'), third)
  stored = second
  t.equal(cache.get('worker-1'), third, 'the watch is half-way')
  stored = version('4')
  t.equal(cache.get('worker-1'), stored, 'somebody else wrote')
  stored = version('1')
  t.equal(cache.get('worker-1'), stored, 'and the write is forgotten')
})

t.test('a Node that was registered anew is not covered', async (t) => {
  let stored: Node | undefined = version('1')
  const cache = createMutationCache<Node>(() => stored)
  cache.wrote(stored, version('2'))
  stored = version('1', { uid: 'other' })
  t.equal(cache.get('worker-1')?.uid, 'other')
  stored = undefined
  t.equal(cache.get('worker-1'), undefined)
})

t.test('a Node that was deleted is not shown while the watch still has it', async (t) => {
  let stored: Node | undefined = version('1')
  const cache = createMutationCache<Node>(() => stored)
  cache.deleted(version('1'))
  t.equal(cache.get('worker-1'), undefined)
  stored = version('0')
  t.equal(cache.get('worker-1'), undefined, 'nor an older version')
  stored = version('2')
  t.equal(cache.get('worker-1'), undefined, 'its last change comes late')
  cache.forget('worker-1')
  t.equal(cache.get('worker-1'), undefined)
  stored = version('3', { uid: 'other' })
  t.equal(cache.get('worker-1'), stored, 'the next of its name')
})

t.test('a Node that was deleted is shown when a finalizer keeps it', async (t) => {
  let stored: Node | undefined = version('1')
  const cache = createMutationCache<Node>(() => stored)
  cache.deleted(stored)
  t.equal(cache.get('worker-1'), undefined)
  stored = version('2', { deleting: true })
  t.equal(cache.get('worker-1'), stored)
})
