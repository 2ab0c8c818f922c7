import t from 'tap'
import { node, report } from '../../../../test/fixtures/facts.ts'
import { createHandClock } from '../../../../test/fixtures/hand-clock.ts'
import { createStatusQueue, type PendingStatus } from './status-queue.ts'

function setUp(
  write: (name: string, pending: PendingStatus, signal: AbortSignal) => Promise<void> = async () => undefined,
) {
  const clock = createHandClock()
  const written: string[] = []
  const failed: string[] = []
  const queue = createStatusQueue({
    clock,
    write: (name, pending, signal) => {
      written.push(`${name} ${pending.status.instanceType}`)
      return write(name, pending, signal)
    },
    onError: (name) => failed.push(name),
  })
  const put = (name: string, instanceType = 'a') =>
    queue.put(name, {
      node: node({ name }),
      report: report({ name }),
      status: { instanceType },
      events: [],
    })
  const ending = new AbortController()
  const running = queue.run(ending.signal)
  const stop = async () => {
    ending.abort()
    await running
  }
  return { clock, queue, put, written, failed, stop }
}

t.test('statuses are written when no more come, in their order', async (t) => {
  const { clock, queue, put, written, stop } = setUp()
  put('b')
  await clock.turn(60)
  put('a')
  await clock.turn(60)
  t.same(written, [], 'another one came')
  await clock.turn(40)
  t.same(written, ['b a', 'a a'])
  t.equal(await queue.settled('a'), undefined)
  put('c')
  await clock.turn(100)
  t.same(written.slice(2), ['c a'])
  await stop()
})

t.test(
  'where few wait, one that takes the place of another keeps its turn and makes nobody wait',
  async (t) => {
    const { clock, queue, put, written, stop } = setUp()
    put('a')
    put('b')
    await clock.turn(60)
    put('a', 'new')
    t.match(await queue.settled('a'), { status: { instanceType: 'new' } })
    await clock.turn(40)
    t.same(written, ['a new', 'b a'])
    await stop()
  },
)

t.test('where many wait, none is written while they still change', async (t) => {
  const { clock, put, written, stop } = setUp()
  const names = Array.from({ length: 60 }, (_, i) => `node-${i}`)
  for (const name of names) put(name)
  for (const name of names) {
    await clock.turn(50)
    put(name, 'new')
  }
  await clock.turn(950)
  t.same(written, [])
  await clock.turn(100)
  t.same(
    written,
    names.map((name) => `${name} new`),
  )
  await stop()
})

t.test('while they come without end, the first is written after a quarter of a minute', async (t) => {
  const { clock, put, written, stop } = setUp()
  for (let i = 0; i < 300; i++) {
    put(`node-${i}`)
    await clock.turn(50)
  }
  t.same(written, ['node-0 a'])
  await stop()
})

t.test('where many wait, they change for a while at most', async (t) => {
  const { clock, put, written, stop } = setUp()
  for (let i = 0; i < 60; i++) put(`node-${i}`)
  for (let i = 0; i < 9; i++) {
    await clock.turn(500)
    put('node-0')
  }
  t.same(written, [])
  await clock.turn(500)
  t.equal(written.length, 60, 'five seconds after the last that was new')
  await stop()
})

t.test('while thousands come, none is overdue', async (t) => {
  const { clock, put, written, stop } = setUp()
  for (let i = 0; i < 2_000; i++) {
    put(`node-${i}`)
    await clock.turn(10)
  }
  t.same(written, [])
  await clock.turn(1_000)
  t.equal(written.length, 2_000)
  await stop()
})

t.test(
  'those that are overdue are written one at a time while others come, and eight afterwards',
  async (t) => {
    let held: (() => void)[] | undefined = []
    const { clock, put, written, stop } = setUp(async () => {
      await new Promise<void>((resolve) => (held === undefined ? resolve() : held.push(resolve)))
    })
    const answerOne = () => held?.shift()?.()
    for (let i = 0; i < 310; i++) {
      put(`node-${i}`)
      await clock.turn(50)
    }
    t.same(written, ['node-0 a'], 'the second is overdue as well')
    answerOne()
    await clock.turn(0)
    t.same(written, ['node-0 a', 'node-1 a'])
    await clock.turn(800)
    answerOne()
    await clock.turn(0)
    t.equal(written.length, 2 + 1, 'so many may be followed by more')
    await clock.turn(200)
    answerOne()
    await clock.turn(0)
    t.equal(written.length, 3 + 8)
    const answers = held
    held = undefined
    for (const answer of answers) answer()
    await clock.turn(0)
    await stop()
    t.equal(written.length, 310)
  },
)

t.test('one whose write hangs makes the others wait only while more come', async (t) => {
  const { clock, put, written, stop } = setUp((name) =>
    name === 'a' ? new Promise(() => undefined) : Promise.resolve(),
  )
  put('a')
  await clock.turn(100)
  put('b')
  await clock.turn(50)
  t.same(written, ['a a'])
  await clock.turn(50)
  t.same(written, ['a a', 'b a'])
  void stop()
})

t.test('a failure is told, and the others are written', async (t) => {
  const { clock, queue, put, written, failed, stop } = setUp(async (name) => {
    if (name === 'a') throw new Error('down')
  })
  put('a')
  put('b')
  await clock.turn(100)
  t.same(failed, ['a'])
  t.same(written, ['a a', 'b a'])
  t.equal(await queue.settled('a'), undefined)
  await stop()
})

t.test('no Node has two written at once, and so many Nodes have', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { clock, queue, put, written, stop } = setUp(() => promise)
  for (let i = 0; i < 10; i++) put(`node-${i}`)
  await clock.turn(100)
  t.equal(written.length, 8)
  put('node-0', 'new')
  await clock.turn(100)
  t.equal(written.length, 8)
  resolve()
  await clock.turn(100)
  t.same(written.slice(8).sort(), ['node-0 new', 'node-8 a', 'node-9 a'])
  t.equal(await queue.settled('node-0'), undefined)
  await stop()
})

t.test('what is deleted is not written', async (t) => {
  const { clock, queue, put, written, stop } = setUp()
  put('a')
  put('b')
  queue.delete('a')
  await clock.turn(100)
  t.same(written, ['b a'])
  await stop()
})

t.test('at the end, what waits is written at once', async (t) => {
  const { clock, put, written, failed, stop } = setUp(async (name) => {
    if (name === 'node-1') throw new Error("the Lease may be another's by now")
  })
  for (let i = 0; i < 20; i++) put(`node-${i}`)
  await stop()
  t.equal(written.length, 20)
  t.same(failed, [], 'nobody is there to look again')
  put('late')
  await clock.turn(60_000)
  t.equal(written.length, 20)
})

t.test('at the end, what a slow API server does not take in two seconds is dropped', async (t) => {
  const cut = (_: string, __: PendingStatus, signal: AbortSignal) =>
    new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const { clock, put, written, failed, stop } = setUp(cut)
  for (let i = 0; i < 20; i++) put(`node-${i}`)
  let ended = false
  const stopped = stop().then(() => {
    ended = true
  })
  await clock.turn(1_999)
  t.notOk(ended)
  await clock.turn(1)
  await stopped
  t.equal(written.length, 8, 'no more than at once')
  t.same(failed, [])
  t.equal(clock.sleepers, 0)
})
