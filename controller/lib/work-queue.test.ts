import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createHandClock, type HandClock } from '../../test/fixtures/hand-clock.ts'
import { createWorkQueue, type ReconcileResult, type WorkOutcome } from './work-queue.ts'

const base = {
  onError: () => undefined,
  concurrency: 2,
  backoff: { base: 1, max: 4 },
  random: () => 0,
}
const never = new AbortController().signal
/** One key at a time, retried after a second. */
const oneByOne = { ...base, backoff: { base: 1_000, max: 1_000 }, random: () => 0.5, concurrency: 1 }

type Process = (key: string, clock: HandClock) => Promise<ReconcileResult>

/** Runs a queue, which has these keys already, until it is ended. */
function run(keys: readonly string[], process: Process, changes: object = {}) {
  const clock = createHandClock()
  const stop = new AbortController()
  const queue = createWorkQueue({ ...base, clock, ...changes })
  for (const key of keys) queue.add(key)
  const done = queue.run((key) => process(key, clock), stop.signal)
  const end = async () => {
    stop.abort()
    await done
  }
  return { clock, queue, stop, done, end }
}

/** Runs a queue over the keys until nothing is left to do. */
async function drain(process: Process, keys: string[], changes = {}) {
  const { clock, queue, end } = run(keys, process, changes)
  await clock.turn(1_000)
  await end()
  return queue
}

t.test('a key waits once however often it is added', async (t) => {
  const seen: string[] = []
  const queue = await drain(
    async (key) => {
      seen.push(key)
      return 'done'
    },
    ['a', 'b', 'a', 'a'],
  )
  t.same(seen, ['a', 'b'])
  t.equal(queue.depth(), 0)
})

t.test('no key is processed twice at once, and none misses a change', async (t) => {
  let running = 0
  let runs = 0
  const { clock, queue, end } = run(['a'], async (_, clock) => {
    running++
    t.equal(running, 1)
    runs++
    await clock.sleep(5, never)
    running--
    return 'done'
  })
  await clock.turn(2)
  queue.add('a')
  queue.add('a')
  await clock.turn(30)
  await end()
  t.equal(runs, 2)
})

t.test('what only news counts for is asked once the key is not processed any more', async (t) => {
  let runs = 0
  let isNews = true
  const process = async (_: string, clock: HandClock): Promise<ReconcileResult> => {
    runs++
    await clock.sleep(5, never)
    isNews = false
    return 'done'
  }
  const { clock, queue, end } = run(['a'], process, { isNews: () => isNews })
  await clock.turn(1)
  queue.addIfNews('a')
  await clock.turn(1_000)
  t.equal(runs, 1, 'it was news only until then')
  queue.addIfNews('a')
  await clock.turn(1_000)
  t.equal(runs, 1)
  queue.add('a')
  await clock.turn(1)
  queue.add('a')
  queue.addIfNews('a')
  await clock.turn(1_000)
  t.equal(runs, 3, 'whatever else has changed counts')
  isNews = true
  queue.addIfNews('a')
  await clock.turn(1_000)
  t.equal(runs, 4)
  await end()
})

t.test('at most so many at once', async (t) => {
  let running = 0
  let most = 0
  await drain(
    async (_, clock) => {
      most = Math.max(most, ++running)
      await clock.sleep(2, never)
      running--
      return 'done'
    },
    ['a', 'b', 'c', 'd', 'e'],
  )
  t.equal(most, 2)
})

t.test('a retry comes with a growing wait, a throw counts as one, success forgets', async (t) => {
  const times: number[] = []
  const errors: unknown[] = []
  await drain(
    async (_, clock) => {
      times.push(clock.monotonic())
      if (times.length === 2) throw new Error('no')
      return times.length < 5 ? 'requeue' : 'done'
    },
    ['a'],
    { onError: (_: string, error: unknown) => errors.push(error), backoff: { base: 10, max: 40 } },
  )
  t.same(times, [0, 5, 15, 35, 55])
  t.equal(errors.length, 1)
})

t.test('a key that is added while it waits for a retry is taken at once', async (t) => {
  let runs = 0
  const process = async () => (++runs === 1 ? 'requeue' : 'done')
  const { clock, queue, end } = run(['a'], process, { backoff: { base: 60_000, max: 60_000 } })
  await clock.turn(5)
  queue.add('a')
  await clock.turn(0)
  await end()
  t.equal(runs, 2)
})

t.test('a stop waits for what is under way and leaves no timer', async (t) => {
  let finished = false
  const process: Process = async (_, clock) => {
    await clock.sleep(10, never)
    finished = true
    return 'requeue'
  }
  const { clock, stop, done } = run(['a'], process, { backoff: { base: 60_000, max: 60_000 } })
  let ended = false
  void done.then(() => {
    ended = true
  })
  await clock.turn(2)
  stop.abort()
  await clock.turn(7)
  t.notOk(ended)
  await clock.turn(1)
  await done
  t.equal(finished, true)
  await clock.turn(0)
  t.equal(clock.sleepers, 0)
})

/** A queue whose time the test turns, and when each key was processed, milliseconds. */
function limited(
  t: { teardown(fn: () => Promise<void>): unknown },
  outcome: () => ReconcileResult = () => 'done',
) {
  const times: Record<string, number[]> = {}
  const process: Process = async (key, clock) => {
    times[key] = [...(times[key] ?? []), clock.monotonic()]
    return outcome()
  }
  const rate = { burst: 3, interval: 1_000 }
  const { clock, queue, end } = run([], process, { backoff: { base: 60_000, max: 60_000 }, rate })
  t.teardown(async () => {
    await end()
    await clock.turn(0)
    if (clock.sleepers > 0) throw new Error('a timer is left')
  })
  return { clock, queue, times }
}

for (const outcome of ['done', 'requeue'] as const) {
  t.test(`a key that changes without end is taken at its rate, when it ends with ${outcome}`, async (t) => {
    const { clock, queue, times } = limited(t, () => outcome)
    for (let ms = 0; ms < 4_500; ms += 100) {
      queue.add('loud')
      await clock.turn(100)
    }
    t.same(times.loud, [0, 100, 200, 1_000, 2_000, 3_000, 4_000])
    t.equal(queue.depth(), 1, 'the last change waits')
    queue.add('quiet')
    await clock.turn(0)
    t.same(times.quiet, [4_500], 'which keeps no other waiting')
    await clock.turn(5_000)
    t.same(times.loud?.slice(7), [5_000], 'and is not lost')
    t.equal(queue.depth(), 0)
  })
}

t.test('a key that was quiet has its burst again', async (t) => {
  const { clock, queue, times } = limited(t)
  for (const ms of [0, 0, 0, 10_000, 0, 0]) {
    await clock.turn(ms)
    queue.add('a')
    await clock.turn(0)
  }
  t.same(times.a, [0, 0, 0, 10_000, 10_000, 10_000])
})

t.test('a key that adds itself through what it writes is held, too', async (t) => {
  let runs = 0
  const { clock, queue, end } = run(['a'], async (key) => {
    runs++
    queue.add(key)
    return 'requeue'
  })
  await clock.turn(10_500)
  await end()
  t.equal(runs, 20)
})

t.test('a key comes back after the time that it asked for, or when it is added before', async (t) => {
  const seen: number[] = []
  const { clock, queue, end } = run(['a'], async (_, clock) => {
    seen.push(clock.now())
    return seen.length < 3 ? { requeueAfter: 900_000 } : 'done'
  })
  const start = clock.now()
  await clock.turn(899_999)
  t.same(seen, [start])
  await clock.turn(1)
  t.same(seen, [start, start + 900_000])
  queue.add('a')
  await clock.turn(0)
  t.equal(seen.length, 3)
  await clock.turn(2_000_000)
  t.equal(seen.length, 3, 'the time that was asked for before is forgotten')
  await end()
})

t.test('it is idle once only time or another key can bring work', async (t) => {
  const clock = createHandClock()
  const stop = new AbortController()
  const queue = createWorkQueue({ ...oneByOne, clock, rate: { burst: 2, interval: 5_000 } })
  t.equal(queue.isIdle(), true)
  queue.add('a')
  t.equal(queue.isIdle(), false, 'it waits for a worker')
  const done = queue.run(async () => {
    await clock.sleep(5, never)
    return { requeueAfter: 900_000 }
  }, stop.signal)
  await clock.turn(2)
  t.equal(queue.isIdle(), false, 'it is worked on')
  await clock.turn(10)
  t.equal(queue.isIdle(), true, 'its time is not over')
  queue.add('a')
  await clock.turn(10)
  queue.add('a')
  await clock.turn(10)
  t.equal(queue.isIdle(), false, 'its rate does not allow it yet')
  await clock.turn(10_000)
  t.equal(queue.isIdle(), true)
  stop.abort()
  await done
})

t.test('what happens to keys is told, with its times', async (t) => {
  const told: unknown[] = []
  const observer = {
    added: () => told.push('added'),
    started: (ms: number) => told.push(['started', ms]),
    ended: (ms: number) => told.push(['ended', ms]),
    retried: () => told.push('retried'),
  }
  const results: ReconcileResult[] = ['requeue', 'done', 'done']
  const process: Process = async (_, clock) => {
    await clock.sleep(10, new AbortController().signal)
    return results.shift() ?? 'done'
  }
  const { clock, queue, end } = run([], process, { ...oneByOne, observer })
  queue.add('a')
  queue.add('b')
  queue.add('b')
  await clock.turn(5)
  t.same([...queue.activeSince()], [0])
  t.same(told.splice(0), ['added', 'added', ['started', 0]])
  await clock.turn(15)
  t.same(told.splice(0), [['ended', 10], 'retried', ['started', 10], ['ended', 10]])
  await clock.turn(1_000)
  t.same(told.splice(0), ['added', ['started', 0], ['ended', 10]])
  await end()
  t.same([...queue.activeSince()], [])
})

t.test('how each key went is told, but not of what the end may have cut off', async (t) => {
  const outcomes: unknown[] = []
  const observer = {
    added: () => undefined,
    started: () => undefined,
    ended: (_: number, outcome: WorkOutcome | undefined) => outcomes.push(outcome),
    retried: () => undefined,
  }
  const process: Process = async (key) => {
    if (key === 'fails') throw new Error('down')
    if (key === 'ends') stop.abort()
    return key === 'again' ? 'requeue' : key === 'later' ? { requeueAfter: 1_000 } : 'done'
  }
  const { clock, queue, stop, done } = run([], process, { ...oneByOne, observer })
  for (const key of ['fine', 'again', 'later', 'fails', 'ends']) queue.add(key)
  await clock.turn(5)
  await done
  t.same(outcomes, ['done', 'retry', 'done', 'error', undefined])
})

/** A queue in which the keys that begin with "slow" are slow, and the order in which its keys were begun. */
function withSlowLane(keys: readonly string[], process: Process, changes = {}) {
  const begun: string[] = []
  const slowLane = { concurrency: 2, has: (key: string) => key.startsWith('slow') }
  const begin: Process = (key, clock) => {
    begun.push(`${clock.monotonic()} ${key}`)
    return process(key, clock)
  }
  return { begun, ...run(keys, begin, { concurrency: 4, slowLane, ...changes }) }
}

t.test('slow keys wait for each other and hold up no other', async (t) => {
  const keys = ['slow1', 'slow2', 'slow3', 'slow4', 'slow5', 'a', 'b', 'c']
  const { clock, queue, begun, stop, done } = withSlowLane(keys, async (key, clock) => {
    await clock.sleep(key.startsWith('slow') ? 15_000 : 1, never)
    return 'done'
  })
  await clock.turn(10)
  t.same(begun, ['0 slow1', '0 slow2', '0 a', '0 b', '1 c'], 'the others pass those that wait')
  t.equal(queue.depth(), 3)
  queue.add('d')
  await clock.turn(30_000)
  t.same(begun.slice(5), ['10 d', '15000 slow3', '15000 slow4', '30000 slow5'], 'in their order')
  stop.abort()
  await clock.turn(15_000)
  await done
})

t.test('urgent keys go before those that came first', async (t) => {
  const urgent = new Set<string>()
  const process: Process = async (_, clock) => {
    await clock.sleep(10, never)
    return 'done'
  }
  const changes = { concurrency: 1, isUrgent: (key: string) => urgent.has(key) }
  const { clock, queue, begun, end } = withSlowLane(['slow1', 'slow2', 'a', 'b', 'c'], process, {
    ...changes,
    slowLane: { concurrency: 1, has: (key: string) => key.startsWith('slow') },
  })
  urgent.add('b').add('c')
  await clock.turn(5)
  queue.add('d')
  urgent.add('d')
  await clock.turn(60)
  t.same(begun, ['0 slow1', '10 b', '20 c', '30 d', '40 slow2', '50 a'], 'the others in their order')
  await end()
})

t.test('a key that turns slow while it waits, or is slow no more, is taken as it is then', async (t) => {
  const slow = new Set(['a', 'b', 'c', 'd'])
  const process: Process = async (_, clock) => {
    await clock.sleep(10, never)
    return 'done'
  }
  const slowLane = { concurrency: 1, has: (key: string) => slow.has(key) }
  const { clock, queue, begun, end } = withSlowLane([...slow], process, { slowLane })
  await clock.turn(0)
  t.same(begun, ['0 a'])
  slow.delete('c')
  queue.add('e')
  await clock.turn(0)
  t.same(begun, ['0 a', '0 c', '0 e'])
  await clock.turn(30)
  t.same(begun.slice(3), ['10 b', '20 d'])
  await end()
})

t.test('a slow key that fails waits for its backoff, whatever changes meanwhile', async (t) => {
  const process: Process = async (_, clock) => {
    await clock.sleep(100, never)
    return 'requeue'
  }
  const changes = { backoff: { base: 60_000, max: 60_000 }, random: () => 1 }
  const { clock, queue, begun, stop, done } = withSlowLane(['slow', 'quick'], process, changes)
  await clock.turn(50)
  for (const key of ['slow', 'quick']) queue.add(key)
  await clock.turn(150)
  t.same(begun, ['0 slow', '0 quick', '100 quick'], 'what changed while it was processed')
  for (const key of ['slow', 'quick']) queue.add(key)
  await clock.turn(100)
  t.same(begun.slice(3), ['200 quick'], 'what changes during its backoff')
  await clock.turn(59_900)
  t.ok(begun.includes('60100 slow'), begun.join())
  stop.abort()
  await clock.turn(100)
  await done
})

t.test('however many keys there are, whatever else is to be done has its turn', async (t) => {
  const clock = createHandClock()
  const stop = new AbortController()
  let time = 0
  const sleeps: number[] = []
  const queue = createWorkQueue({
    ...base,
    clock: {
      ...clock,
      monotonic: () => time,
      sleep: async (ms) => {
        sleeps.push(ms)
        await nextTurn()
      },
    },
  })
  for (let i = 0; i < 1_000; i++) queue.add(`${i}`)
  const work = async (): Promise<ReconcileResult> => {
    time++
    if (time === 1_000) stop.abort()
    return 'done'
  }
  await queue.run(work, stop.signal)
  t.equal(time, 1_000)
  t.same([...new Set(sleeps)], [0])
  t.ok(sleeps.length >= 15, `${sleeps.length} times`)
})
