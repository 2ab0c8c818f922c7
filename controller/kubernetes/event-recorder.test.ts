import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { collectGarbage, heldBytes } from '../../test/fixtures/heap.ts'
import { PATIENCE, until } from '../../test/fixtures/until.ts'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { createEventRecorder, type EventDetails } from './event-recorder.ts'
import { answer, startApiStub } from './testing/api-stub.ts'
import { adminClient } from './testing/cluster-client.ts'
import { createLogLines } from './testing/log-lines.ts'

const about = (name: string, facts: Partial<EventDetails> = {}): EventDetails => ({
  regarding: { apiVersion: 'v1', kind: 'Node', name, uid: `uid-of-${name}` },
  type: 'Warning',
  reason: 'VMNotFound',
  message: 'no VM has this UUID',
  ...facts,
})

interface EventObject {
  metadata: { name: string }
  [field: string]: unknown
}

t.test('as kubectl describe node asks for them', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  const client = adminClient(cluster)
  t.teardown(() => client.close())
  const clock = createHandClock()
  const recorder = createEventRecorder({
    client,
    component: 'rollcall-controller',
    instance: 'pod-1',
    clock,
    random: Math.random,
    logger: createLogLines().logger,
  })
  const stop = new AbortController()
  const ended = recorder.run(stop.signal)
  const describe = async (name: string) => {
    const fieldSelector = [
      `involvedObject.name=${name}`,
      'involvedObject.namespace=',
      'involvedObject.kind=Node',
      `involvedObject.uid=uid-of-${name}`,
    ].join(',')
    const query = new URLSearchParams({ fieldSelector })
    const { body } = await cluster.request<{ items: EventObject[] }>('GET', `/api/v1/events?${query}`)
    return body.items
  }
  const written = (count: number) => until(`${count} are written`, () => recorder.counts().written === count)

  recorder.event(about('a'))
  await written(1)
  t.match(await describe('a'), [
    {
      metadata: { namespace: 'default' },
      type: 'Warning',
      reason: 'VMNotFound',
      message: 'no VM has this UUID',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'rollcall-controller' },
      reportingComponent: 'rollcall-controller',
      reportingInstance: 'pod-1',
    },
  ])

  await clock.turn(60_000)
  recorder.event(about('a'))
  await written(2)
  const again = await describe('a')
  t.match(again, [
    { count: 2, firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:01:00Z' },
  ])
  t.equal(again.length, 1)

  recorder.event(about('a', { message: 'another' }))
  recorder.event(about('a', { type: 'Normal' }))
  recorder.event(about('b'))
  await written(5)
  t.equal((await describe('a')).length, 3, 'another message or type is another event')
  t.equal((await describe('b')).length, 1)

  // The API server forgets events after an hour.
  for (const { metadata } of await describe('b')) {
    await cluster.request('DELETE', `/api/v1/namespaces/default/events/${metadata.name}`)
  }
  recorder.event(about('b'))
  await written(6)
  t.match(await describe('b'), [{ count: 1, firstTimestamp: '2026-01-01T00:01:00Z' }])

  await clock.turn(600_001)
  recorder.event(about('b'))
  await written(7)
  t.equal((await describe('b')).length, 2, 'news again after ten minutes')

  const long = 'x'.repeat(253)
  recorder.event(about(long, { message: 'ä'.repeat(5_000) }))
  await written(8)
  t.match(
    await describe(long),
    [{ message: `${'ä'.repeat(1021)}...` }],
    'the longest name and a long message',
  )
  t.same(recorder.counts(), { written: 8, dropped: 0 })
  stop.abort()
  await ended
})

/** A recorder against a server whose answers the test decides. */
async function withStub(t: { teardown(fn: () => Promise<void>): unknown }, clock = createHandClock()) {
  const state = { status: 201, asked: 0, onAsk: () => {} }
  const stub = await startApiStub((_, response) => {
    state.asked++
    state.onAsk()
    answer(response, state.status, { kind: 'Status', reason: `Reason${state.status}`, message: 'no' })
  })
  const log = createLogLines()
  const stop = new AbortController()
  const recorder = createEventRecorder({
    client: stub.client,
    component: 'test',
    instance: 'test',
    clock,
    random: () => 1,
    logger: log.logger,
  })
  const ended = recorder.run(stop.signal)
  t.teardown(async () => {
    stop.abort()
    await ended
    await stub[Symbol.asyncDispose]()
  })
  return { state, stub, clock, log, recorder }
}

t.test('a refused event is dropped, counted and complained of once', async (t) => {
  const { state, log, recorder } = await withStub(t)
  state.status = 403
  for (let i = 0; i < 10; i++) recorder.event(about(`n${i}`))
  await until('all are dropped', () => recorder.counts().dropped === 10)
  t.equal(state.asked, 10)
  t.match(log.lines, [{ msg: 'event not written', cause: /403 Reason403: no/ }])
  t.equal(log.lines.length, 1)

  state.status = 201
  recorder.event(about('a'))
  await until('it is written', () => recorder.counts().written === 1)
  state.status = 403
  recorder.event(about('b'))
  await until('it is dropped', () => recorder.counts().dropped === 11)
  t.equal(log.lines.length, 2, 'and again when it had worked meanwhile')
})

t.test('an API server that is away gets them later, as one each', async (t) => {
  const { state, stub, clock, log, recorder } = await withStub(t)
  state.status = 503
  recorder.event(about('a'))
  await until('it was tried', () => state.asked === 1)
  for (let i = 0; i < 5; i++) recorder.event(about('a'))
  recorder.event(about('b'))
  state.status = 201
  await until('it waits', () => clock.sleepers > 0)
  await clock.turn(1_000)
  await until('both are written', () => recorder.counts().written === 2)
  t.same(recorder.counts(), { written: 2, dropped: 0 })
  t.equal(new Set(stub.requests).size, 1, 'POST only')
  t.equal(log.lines.length, 1)
})

t.test('an answer that was lost does not make two of one', async (t) => {
  const { state, clock, recorder } = await withStub(t)
  state.status = 503
  recorder.event(about('a'))
  await until('it was tried', () => state.asked === 1)
  // It had been written all the same.
  state.status = 409
  await until('it waits', () => clock.sleepers > 0)
  await clock.turn(1_000)
  await until('it is written', () => recorder.counts().written === 1)
})

t.test('flush waits for what is queued, but not forever', async (t) => {
  const { state, clock, log, recorder } = await withStub(t)
  await recorder.flush(PATIENCE)
  recorder.event(about('a'))
  await recorder.flush(PATIENCE)
  t.equal(recorder.counts().written, 1)

  state.status = 500
  recorder.event(about('b'))
  const flushed = recorder.flush(2_000)
  await until('it was tried', () => state.asked === 2)
  await clock.turn(2_000)
  await flushed
  t.match(log.lines.at(-1), { msg: 'events left unwritten', events: 1 })
})

t.test('a Node of which much is said keeps no other waiting', async (t) => {
  const { state, clock, recorder, stub } = await withStub(t)
  // Each write brings the next occurrence, so that this series always has something to write.
  state.onAsk = () => {
    if (state.asked <= 10) recorder.event(about('loud'))
  }
  for (const name of ['loud', 'quiet', 'quiet too']) recorder.event(about(name))
  await recorder.flush(PATIENCE)
  t.match(
    stub.requests.slice(0, 3),
    [/^POST/, /^POST/, /^POST/],
    'each has its turn before one has its second',
  )

  // Other messages are other series, but of the same object.
  for (let i = 0; i < 100; i++) recorder.event(about('verbose', { message: `no ${i}` }))
  recorder.event(about('verbose', { message: 'no 1' }))
  await recorder.flush(PATIENCE)
  t.equal(recorder.counts().dropped, 101 - 25)
  const { written } = recorder.counts()
  await clock.turn(600_000)
  for (let i = 0; i < 10; i++) recorder.event(about('verbose', { message: `later ${i}` }))
  recorder.event(about('another'))
  await recorder.flush(PATIENCE)
  t.same(recorder.counts(), { written: written + 3, dropped: 76 + 8 }, 'two more after ten minutes')
})

t.test('memory and queue have an end', async (t) => {
  const clock = createHandClock()
  const log = createLogLines()
  const { client, [Symbol.asyncDispose]: end } = await startApiStub(() => undefined)
  t.teardown(end)
  const facts = { client, component: 'test', instance: 'test', random: () => 0 }
  // It does not run: everything stays queued.
  const recorder = createEventRecorder({ ...facts, clock, logger: log.logger })
  for (let i = 0; i < 5_000; i++) recorder.event(about(`n${i}`))
  t.same(recorder.counts(), { written: 0, dropped: 5_000 - 4_096 })
  t.equal(log.lines.length, 1)
})

t.test('keeps none that would be a new one by now', async (t) => {
  // What the connections hold is freed a little later, and is little beside so many Events.
  const held = async () => {
    for (let i = 0; i < 2; i++) {
      collectGarbage()
      await setImmediate()
    }
    return heldBytes()
  }
  const many = 4_000
  const { recorder, clock, stub } = await withStub(t)
  recorder.event(about('a first one'))
  await recorder.flush(PATIENCE)
  const atFirst = await held()
  for (let i = 0; i < many; i++) recorder.event(about(`n${i}`, { message: `${i} `.padEnd(1_000, 'x') }))
  await recorder.flush(PATIENCE)
  stub.requests.length = 0
  const before = await held()
  const kept = (before - atFirst) / many
  t.ok(kept < 1_000, `${Math.round(kept)} bytes of each that is written`)
  await clock.turn(600_001)
  recorder.event(about('one more'))
  await recorder.flush(PATIENCE)
  const freed = (before - (await held())) / many
  t.ok(freed > 100, `${Math.round(freed)} bytes of each when it is over`)
})

t.test('forgets the oldest first', async (t) => {
  const { recorder, stub } = await withStub(t, { ...createHandClock(), sleep: systemClock.sleep })
  for (let i = 0; i < 4_096; i++) recorder.event(about(`n${i}`))
  await recorder.flush(PATIENCE)
  recorder.event(about('one more'))
  await recorder.flush(PATIENCE)
  recorder.event(about('n1'))
  recorder.event(about('n0'))
  await recorder.flush(PATIENCE)
  t.same(
    stub.requests.slice(-2).map((request) => request.slice(0, 5)),
    ['PATCH', 'POST '],
  )
})
