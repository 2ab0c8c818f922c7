import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { createLeaseRenewer, createLeaseStore } from './lease.ts'
import { createLoginAttempts } from './lease-login-attempts.ts'
import { adminClient } from './testing/cluster-client.ts'

const { signal } = new AbortController()
const AT = Date.parse('2026-01-01T12:00:00.123Z')
const KEY = 'rollcall.dev/login-attempts'

/** A Lease with this annotation, which others write so many times in between. */
function stub(annotation: string | undefined, conflicts = 0) {
  let annotations: Readonly<Record<string, string>> = {
    other: 'kept',
    ...(annotation === undefined ? {} : { [KEY]: annotation }),
  }
  let left = conflicts
  const attempts = createLoginAttempts({
    async annotate(edit) {
      const edited = edit(annotations)
      if (left-- > 0) return false
      annotations = edited ?? annotations
      return true
    },
  })
  return { attempts, annotations: () => annotations }
}

t.test('reads and writes one account, and leaves all else as it is', async (t) => {
  const others = '"other":[{"at":"2026-01-01T11:50:00.000Z","refused":true}]'
  const { attempts, annotations } = stub(`{${others}}`, 2)
  let calls = 0
  await attempts.update(
    ['vc/1'],
    ([before]) => {
      calls++
      t.same(before, [])
      return [[{ at: AT, refused: false }]]
    },
    signal,
  )
  t.equal(calls, 3, 'again where others wrote meanwhile')
  t.same(annotations(), {
    other: 'kept',
    [KEY]: `{${others},"vc/1":[{"at":"2026-01-01T12:00:00.123Z","refused":false}]}`,
  })
  await attempts.update(
    ['vc/1'],
    ([before = []]) => [before.map(({ at }) => ({ at, refused: true }))],
    signal,
  )
  await attempts.update(
    ['vc/1'],
    ([before]) => {
      t.same(before, [{ at: AT, refused: true }])
      return []
    },
    signal,
  )
  t.match(annotations(), { [KEY]: `{${others}}` })
})

t.test('an account of several names has a list under each of them', async (t) => {
  // As an earlier version wrote it, by the configured name alone.
  const { attempts, annotations } = stub('{"vc/1":[{"at":"2026-01-01T11:50:00.000Z","refused":true}]}')
  const earlier = { at: Date.parse('2026-01-01T11:50:00Z'), refused: true }
  await attempts.update(
    ['vc/1', 'uuid/1'],
    (lists) => {
      t.same(lists, [[earlier], []])
      return [[earlier, { at: AT, refused: false }], [{ at: AT, refused: false }]]
    },
    signal,
  )
  const before = { at: '2026-01-01T11:50:00.000Z', refused: true }
  const written = { at: '2026-01-01T12:00:00.123Z', refused: false }
  t.same(JSON.parse(annotations()[KEY] ?? ''), { 'vc/1': [before, written], 'uuid/1': [written] })
  await attempts.update(['uuid/1', 'vc/1'], () => [], signal)
  t.equal(annotations()[KEY], '{}')
})

t.test('forgets an account that nobody has tried for as long as an attempt may count', async (t) => {
  const old = '"old":[{"at":"2026-01-01T11:45:00.000Z","refused":true}]'
  const recent = '"recent":[{"at":"2026-01-01T11:46:00.000Z","refused":true}]'
  const { attempts, annotations } = stub(`{${old},${recent}}`)
  await attempts.update(['vc/1'], () => [], signal)
  t.equal(annotations()[KEY], `{${recent},${old}}`)
  await attempts.update(['vc/1'], () => [[{ at: AT, refused: false }]], signal)
  t.equal(annotations()[KEY], `{${recent},"vc/1":[{"at":"2026-01-01T12:00:00.123Z","refused":false}]}`)
})

t.test('ever new accounts do not fill the Lease: the latest stay', async (t) => {
  const { attempts, annotations } = stub(undefined)
  for (let i = 0; i < 200; i++)
    await attempts.update([`vc/${i}`], () => [[{ at: AT + i, refused: true }]], signal)
  const kept = Object.keys(JSON.parse(annotations()[KEY] ?? ''))
  t.same(kept.toSorted(), Array.from({ length: 128 }, (_, i) => `vc/${72 + i}`).toSorted())
})

t.test('what is too long is not carried on', async (t) => {
  const long = JSON.stringify({
    'vc/1': Array(4_000).fill({ at: '2026-01-01T12:00:00.000Z', refused: true }),
  })
  const { attempts, annotations } = stub(long)
  await attempts.update(['vc/2'], () => [[{ at: AT, refused: true }]], signal)
  t.equal(annotations()[KEY], '{"vc/2":[{"at":"2026-01-01T12:00:00.123Z","refused":true}]}')
})

t.test('what is not of its making counts as nothing', async (t) => {
  for (const text of [undefined, '', 'x', '[]', '{"vc/1":7}', '{"vc/1":[{"at":"now","refused":true}]}']) {
    const { attempts } = stub(text)
    await attempts.update(['vc/1'], ([before]) => void t.same(before, [], String(text)), signal)
  }
})

t.test('fails where it is not written', async (t) => {
  const { attempts, annotations } = stub(undefined, 99)
  const before = annotations()
  await t.rejects(
    attempts.update(['vc/1'], () => [], signal),
    /others wrote/,
  )
  t.equal(annotations(), before)
})

t.test('a leader that renews the Lease meanwhile neither loses it nor what is remembered', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  const client = adminClient(cluster)
  t.teardown(() => client.close())
  const lease = createLeaseStore(client, 'kube-system', 'remembers')
  const renewer = createLeaseRenewer({ lease, identity: 'a', durationSeconds: 15, clock: systemClock })
  t.ok(await renewer.acquireOrRenew(signal))
  const attempts = createLoginAttempts(renewer)
  let count = 0
  const add = () =>
    attempts.update(['vc/1'], ([before = []]) => [[...before, { at: AT + count++, refused: false }]], signal)
  for (let i = 0; i < 5; i++) await Promise.all([renewer.renew(signal), add()])
  t.match((await lease.get(signal))?.record, { holder: 'a', transitions: 0 })
  await cluster.request('DELETE', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/remembers')
  await add()
  await renewer.release(signal)
  t.match((await lease.get(signal))?.record, { holder: '' })
  await t.rejects(add(), /does not lead/)
  const next = createLeaseRenewer({ lease, identity: 'b', durationSeconds: 15, clock: systemClock })
  t.ok(await next.acquireOrRenew(signal))
  let remembered: number | undefined
  await createLoginAttempts(next).update(
    ['vc/1'],
    ([before = []]) => {
      remembered = before.length
      return undefined
    },
    signal,
  )
  t.equal(remembered, 1, 'what was written when the Lease had to be made again is there for the next leader')
})
