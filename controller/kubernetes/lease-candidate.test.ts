import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import type { Lease, LeaseRecord, LeaseStore } from './lease.ts'
import { createLeaseCandidate } from './lease-candidate.ts'

t.test('a slow answer makes the term no longer', async (t) => {
  const clock = createHandClock()
  const slowly = async (record: LeaseRecord): Promise<Lease> => {
    await clock.turn(3_000)
    return { record, annotations: {}, metadata: {} }
  }
  const lease: LeaseStore = {
    get: async () => undefined,
    create: slowly,
    update: (_, record) => slowly(record),
  }
  const candidate = createLeaseCandidate({ lease, identity: 'a', durationSeconds: 15, clock })
  const signal = new AbortController().signal
  t.ok(await candidate.acquireOrRenew(signal))
  t.equal(candidate.renewedAt, 0, 'when it was sent, not when the answer came')
  await clock.turn(2_000)
  t.ok(await candidate.acquireOrRenew(signal))
  t.equal(candidate.renewedAt, 5_000)
})

t.test('the time that is left is counted from the last change that was seen', async (t) => {
  const clock = createHandClock()
  const record = { holder: 'b', durationSeconds: 15, acquireTime: '', renewTime: '1', transitions: 0 }
  let current: Lease = { record, annotations: {}, metadata: {} }
  const lease: LeaseStore = {
    get: async () => current,
    create: async () => undefined,
    update: async () => undefined,
  }
  const candidate = createLeaseCandidate({ lease, identity: 'a', durationSeconds: 15, clock })
  const signal = new AbortController().signal
  t.equal(candidate.expiresIn, 0, 'nothing is known yet')
  t.notOk(await candidate.acquireOrRenew(signal))
  t.equal(candidate.expiresIn, 15_000)
  await clock.turn(10_000)
  t.notOk(await candidate.acquireOrRenew(signal))
  t.equal(candidate.expiresIn, 5_000, 'looking again changes nothing')
  current = { record: { ...record, renewTime: '2' }, annotations: {}, metadata: {} }
  t.notOk(await candidate.acquireOrRenew(signal))
  t.equal(candidate.expiresIn, 15_000)
  await clock.turn(20_000)
  t.equal(candidate.expiresIn, 0)
})

t.test('of two renewals at once the answers may come in either order', async (t) => {
  const clock = createHandClock()
  const answers: ((record: Lease) => void)[] = []
  const records: LeaseRecord[] = []
  const lease: LeaseStore = {
    get: async () => undefined,
    create: async (record) => ({ record, annotations: {}, metadata: {} }),
    update: (_, record) => {
      records.push(record)
      return new Promise((resolve) => answers.push(resolve))
    },
  }
  const candidate = createLeaseCandidate({ lease, identity: 'a', durationSeconds: 15, clock })
  const signal = new AbortController().signal
  t.ok(await candidate.acquireOrRenew(signal))
  await clock.turn(1_000)
  const first = candidate.renew(signal)
  await clock.turn(1_000)
  const second = candidate.renew(signal)
  for (const index of [1, 0]) {
    const record = records[index]
    if (record) answers[index]?.({ record, annotations: {}, metadata: {} })
    t.ok(await (index === 1 ? second : first))
    t.equal(candidate.renewedAt, 2_000, 'the later one counts')
  }
})

t.test('an answer that comes late does not put back the annotations of before', async (t) => {
  const clock = createHandClock()
  const answers: ((record: Lease) => void)[] = []
  const lease: LeaseStore = {
    get: async () => undefined,
    create: async (record) => ({ record, annotations: {}, metadata: {} }),
    update: (sent, record) =>
      new Promise((resolve) => answers.push(() => resolve({ ...sent, record, metadata: {} }))),
  }
  const candidate = createLeaseCandidate({ lease, identity: 'a', durationSeconds: 15, clock })
  const signal = new AbortController().signal
  t.ok(await candidate.acquireOrRenew(signal))
  const first = candidate.annotate(() => ({ logins: 'before' }), signal)
  await clock.turn(1_000)
  const second = candidate.annotate(() => ({ logins: 'after' }), signal)
  const record = { holder: 'a', durationSeconds: 15, acquireTime: '', renewTime: '', transitions: 0 }
  for (const index of [1, 0]) answers[index]?.({ record, annotations: {}, metadata: {} })
  t.same(await Promise.all([first, second]), [true, true])
  let known: unknown
  await candidate.annotate((annotations) => {
    known = annotations
    return undefined
  }, signal)
  t.same(known, { logins: 'after' })
})
