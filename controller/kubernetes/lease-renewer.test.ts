import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { createLeaseRenewer, type Lease, type LeaseRecord, type LeaseStore } from './lease.ts'

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
  const renewer = createLeaseRenewer({ lease, identity: 'a', durationSeconds: 15, clock })
  const signal = new AbortController().signal
  t.ok(await renewer.acquireOrRenew(signal))
  t.equal(renewer.renewedAt, 0, 'when it was sent, not when the answer came')
  await clock.turn(2_000)
  t.ok(await renewer.acquireOrRenew(signal))
  t.equal(renewer.renewedAt, 5_000)
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
  const renewer = createLeaseRenewer({ lease, identity: 'a', durationSeconds: 15, clock })
  const signal = new AbortController().signal
  t.equal(renewer.expiresIn, 0, 'nothing is known yet')
  t.notOk(await renewer.acquireOrRenew(signal))
  t.equal(renewer.expiresIn, 15_000)
  await clock.turn(10_000)
  t.notOk(await renewer.acquireOrRenew(signal))
  t.equal(renewer.expiresIn, 5_000, 'looking again changes nothing')
  current = { record: { ...record, renewTime: '2' }, annotations: {}, metadata: {} }
  t.notOk(await renewer.acquireOrRenew(signal))
  t.equal(renewer.expiresIn, 15_000)
  await clock.turn(20_000)
  t.equal(renewer.expiresIn, 0)
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
  const renewer = createLeaseRenewer({ lease, identity: 'a', durationSeconds: 15, clock })
  const signal = new AbortController().signal
  t.ok(await renewer.acquireOrRenew(signal))
  await clock.turn(1_000)
  const first = renewer.renew(signal)
  await clock.turn(1_000)
  const second = renewer.renew(signal)
  for (const index of [1, 0]) {
    const record = records[index]
    if (record) answers[index]?.({ record, annotations: {}, metadata: {} })
    t.ok(await (index === 1 ? second : first))
    t.equal(renewer.renewedAt, 2_000, 'the later one counts')
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
  const renewer = createLeaseRenewer({ lease, identity: 'a', durationSeconds: 15, clock })
  const signal = new AbortController().signal
  t.ok(await renewer.acquireOrRenew(signal))
  const first = renewer.annotate(() => ({ logins: 'before' }), signal)
  await clock.turn(1_000)
  const second = renewer.annotate(() => ({ logins: 'after' }), signal)
  const record = { holder: 'a', durationSeconds: 15, acquireTime: '', renewTime: '', transitions: 0 }
  for (const index of [1, 0]) answers[index]?.({ record, annotations: {}, metadata: {} })
  t.same(await Promise.all([first, second]), [true, true])
  let known: unknown
  await renewer.annotate((annotations) => {
    known = annotations
    return undefined
  }, signal)
  t.same(known, { logins: 'after' })
})
