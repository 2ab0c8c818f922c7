import t from 'tap'
import { startCluster } from '../../test/servers/cluster.ts'
import { systemClock } from '../clock.ts'
import { createCandidate } from './candidate.ts'
import { createLeaseStore, type Lease, type LeaseStore } from './lease.ts'
import { createLoginAttempts } from './login-attempts.ts'
import { adminClient } from './testing/cluster-client.ts'

const { signal } = new AbortController()
const AT = Date.parse('2026-01-01T12:00:00.123Z')
const KEY = 'rollcall.dev/login-attempts'

/** A Lease with this annotation, which others write so many times in between. */
function stub(annotation: string | undefined, conflicts = 0) {
  const annotations = { other: 'kept', ...(annotation === undefined ? {} : { [KEY]: annotation }) }
  const record = { holder: 'a', durationSeconds: 15, acquireTime: '', renewTime: '', transitions: 3 }
  let lease: Lease = { record, object: { metadata: { name: 'l', annotations } } }
  let left = conflicts
  const store: Pick<LeaseStore, 'get' | 'update'> = {
    get: async () => lease,
    async update(sent, record) {
      if (left-- > 0) return undefined
      lease = { object: sent.object, record }
      return lease
    },
  }
  return { attempts: createLoginAttempts(store), lease: () => lease }
}

t.test('reads and writes one account, and leaves all else as it is', async (t) => {
  const others = '"other":[{"at":"2026-01-01T00:00:00.000Z","refused":true}]'
  const { attempts, lease } = stub(`{${others}}`, 2)
  let calls = 0
  await attempts.update(
    'vc/1',
    (before) => {
      calls++
      t.same(before, [])
      return [{ at: AT, refused: false }]
    },
    signal,
  )
  t.equal(calls, 3, 'again where others wrote meanwhile')
  t.same(lease().object, {
    metadata: {
      name: 'l',
      annotations: {
        other: 'kept',
        [KEY]: `{${others},"vc/1":[{"at":"2026-01-01T12:00:00.123Z","refused":false}]}`,
      },
    },
  })
  t.match(lease().record, { holder: 'a', transitions: 3 })
  await attempts.update('vc/1', (before) => before.map(({ at }) => ({ at, refused: true })), signal)
  await attempts.update(
    'vc/1',
    (before) => {
      t.same(before, [{ at: AT, refused: true }])
      return []
    },
    signal,
  )
  t.match(lease().object, { metadata: { annotations: { [KEY]: `{${others}}` } } })
})

t.test('what is not of its making counts as nothing', async (t) => {
  for (const text of [undefined, '', 'x', '[]', '{"vc/1":7}', '{"vc/1":[{"at":"now","refused":true}]}']) {
    const { attempts } = stub(text)
    await attempts.update('vc/1', (before) => void t.same(before, [], String(text)), signal)
  }
})

t.test('fails where it is not written', async (t) => {
  const { attempts, lease } = stub(undefined, 99)
  const before = lease()
  await t.rejects(
    attempts.update('vc/1', () => [], signal),
    /others wrote/,
  )
  t.equal(lease(), before)
  const none = createLoginAttempts({ get: async () => undefined, update: async () => undefined })
  await t.rejects(
    none.update('vc/1', () => [], signal),
    /no Lease/,
  )
})

t.test('a leader that renews the Lease meanwhile neither loses it nor what is remembered', async (t) => {
  const cluster = await startCluster()
  t.teardown(() => cluster.stop())
  const client = adminClient(cluster)
  t.teardown(() => client.close())
  const lease = createLeaseStore(client, 'kube-system', 'remembers')
  const candidate = createCandidate({ lease, identity: 'a', durationSeconds: 15, clock: systemClock })
  t.ok(await candidate.acquireOrRenew(signal))
  const attempts = createLoginAttempts(lease)
  let count = 0
  const add = () =>
    attempts.update('vc/1', (before) => [...before, { at: AT + count++, refused: false }], signal)
  // A renewal may meet two of these writes, and is tried again two seconds later.
  for (let i = 0; i < 5; i++) await Promise.all([candidate.renew(signal), add()])
  t.ok(await candidate.renew(signal))
  t.match((await lease.get(signal))?.record, { holder: 'a', transitions: 0 })
  await candidate.release(signal)
  await attempts.update('vc/1', (before) => void t.equal(before.length, 5), signal)
  t.match((await lease.get(signal))?.record, { holder: '' })
})
