import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { heldBytes } from '../../test/fixtures/heap.ts'
import { compact, releaseMemory } from './memory.ts'

/**
 * Bytes for each of so many copies that are kept: the least of three tries, as what else the process does meanwhile, such as
 * compile a function, only adds.
 *
 * @param make makes one by its number, which differs from try to try
 */
function bytesEach(count: number, make: (i: number) => unknown): number {
  const tries = [1, 2, 3].map((round) => {
    const kept: unknown[] = new Array(count).fill(undefined)
    const before = heldBytes()
    for (let i = 0; i < count; i++) kept[i] = compact(make(round * count + i))
    const bytes = heldBytes() - before
    // A use after the figure: without it, the copies could be garbage before.
    if (kept.length !== count) throw new Error(`${kept.length} copies are left`)
    return bytes / count
  })
  return Math.min(...tries)
}

t.test('a copy is equal to what it was made of, and shares nothing that can change', async (t) => {
  const facts = {
    text: 'vm-1',
    empty: '',
    long: 'x'.repeat(1_000),
    foreign: 'Зона 北京 \u{1f600}',
    half: '\ud83d',
    number: 1.5,
    no: false,
    none: null,
    missing: undefined,
    list: ['a', ['b'], { c: 'd' }, undefined],
    '10': 'a name that is a number',
  }
  const copy = compact(facts)
  t.strictSame(copy, facts)
  t.not(copy, facts)
  t.not(copy.list, facts.list)
  t.not(copy.list[2], facts.list[2])
  t.ok('missing' in copy)
})

t.test('a text does not keep the longer one that it was cut out of', async (t) => {
  const cut = (length: number) => (i: number) => `${i} `.padEnd(256 * 1024, 'x').slice(0, length)
  for (const length of [20, 500]) t.ok(bytesEach(200, cut(length)) < 10_000, `${length} of 262144 characters`)
})

t.test('all empty lists are one, which cannot be changed', async (t) => {
  const { one, other } = compact({ one: [], other: [] })
  t.strictSame(one, [])
  t.equal<unknown>(one, other)
  t.ok(Object.isFrozen(one))
})

t.test('many equal texts are one', async (t) => {
  const text = 'the claim is in guestinfo.rollcall.claim '.repeat(4)
  const each = bytesEach(10_000, (i) => ({ i, text: `${text}${i % 5}` }))
  t.ok(each < text.length, `${Math.round(each)} bytes for each`)
})

t.test('many equal objects of a few texts are one, and no other is taken for it', async (t) => {
  const each = bytesEach(10_000, (i) => ({ type: 'HostSystem', value: `host-${i % 50}` }))
  t.ok(each < 20, `${Math.round(each)} bytes for each`)
  t.ok(Object.isFrozen(compact({ type: 'HostSystem', value: 'host-7' })))
  const alike = ['', ',', '\0', ' ', ':', '"', '","', '\\'].flatMap((separator) => [
    { a: `x${separator}y`, b: 'z' },
    { a: 'x', b: `y${separator}z` },
  ])
  for (const other of [...alike, { a: 'x' }, { b: 'x' }, { b: 'z', a: 'x' }])
    t.strictSame(compact(other), other)
})

t.test('what is still asked for is remembered, however much else has come since', async (t) => {
  const object = { of: 'texts' }
  const first = compact(object)
  for (let i = 0; i < 10_000; i++) {
    compact({ text: `${i}` })
    if (i % 1_000 === 0) t.equal(compact(object), first)
  }
})

t.test('texts that are all different are not kept forever', async (t) => {
  const text = 'y'.repeat(150)
  const kept = bytesEach(20_000, (i) => void compact(`${text}${i}`))
  t.ok(kept < 100, `${Math.round(kept)} bytes for each`)
})

t.test('a list that was made item by item takes no more than one that was not', async (t) => {
  const pushed = bytesEach(10_000, (i) => {
    const list: unknown[] = []
    list.push(i)
    return list
  })
  t.ok(pushed < 100, `${Math.round(pushed)} bytes for each`)
})

t.test('what is not plain data stays as it is', async (t) => {
  const kept = { data: new Map([['user', Buffer.from('u')]]) }
  t.equal(compact(kept).data, kept.data)
})

t.test('memory that has grown is given back, and only then', async (t) => {
  const clock = createHandClock()
  const stop = new AbortController()
  let resident = 100
  let live = 90
  const releases: number[] = []
  const memory = {
    resident: () => resident,
    release() {
      resident = live
      releases.push(clock.monotonic() / 1000)
      return 1
    },
  }
  const running = releaseMemory(memory, clock)(stop.signal)
  await clock.turn(60_000)
  t.same(releases, [5], 'what the start has left')
  resident = 92
  await clock.turn(60_000)
  t.same(releases, [5], 'within the slack')
  resident = 100
  live = 98
  await clock.turn(60_000)
  t.same(releases, [5, 125], 'beyond it')
  resident = 100
  await clock.turn(60_000)
  t.same(releases, [5, 125], 'what is in use counts from then on')
  stop.abort()
  await running
})

t.test('it takes a small part of the time, however much there is', async (t) => {
  const clock = createHandClock()
  const stop = new AbortController()
  let resident = 100
  const releases: number[] = []
  const memory = {
    // It grows all the time.
    resident: () => (resident *= 2),
    release() {
      releases.push(clock.monotonic() / 1000)
      return 500
    },
  }
  const running = releaseMemory(memory, clock)(stop.signal)
  await clock.turn(40_000)
  t.same(releases, [5, 21, 37])
  stop.abort()
  await running
})
