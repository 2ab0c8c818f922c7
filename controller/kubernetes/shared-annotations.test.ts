import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import type { Annotations, Lease, LeaseStore } from './lease.ts'
import { createSharedAnnotations, type SharedLease } from './lease-login-attempts.ts'

const { signal } = new AbortController()
const record = { holder: 'leader', durationSeconds: 15, acquireTime: 'a', renewTime: 'r', transitions: 3 }

function store(lease: Lease | undefined, update: LeaseStore['update'] = async (lease) => lease): LeaseStore {
  return {
    get: async () => lease,
    create: async () => {
      throw new Error('nobody who does not lead creates the Lease')
    },
    update,
  }
}

function shared(lease: LeaseStore | undefined, skew: SharedLease['skew'] = async () => 0) {
  return createSharedAnnotations(lease && { lease, skew })
}

const add = (annotations: Annotations) => ({ ...annotations, b: `${Number(annotations.b ?? 0) + 1}` })

t.test('the Lease is written with another annotation, and nothing else', async (t) => {
  const written: unknown[] = []
  const annotations = shared(
    store({ record, annotations: { a: '1' }, metadata: { uid: 'u' } }, async (lease, record) => {
      written.push([lease, record])
      return lease
    }),
  )
  t.equal(await annotations.annotate(add, signal), true)
  t.same(written, [[{ record, annotations: { a: '1', b: '1' }, metadata: { uid: 'u' } }, record]])
  t.equal(annotations.alone(), undefined)
})

t.test('where somebody else wrote meanwhile, it is to be tried again', async (t) => {
  const annotations = shared(store({ record, annotations: {}, metadata: {} }, async () => undefined))
  t.equal(await annotations.annotate(add, signal), false)
})

t.test('many write one after the other, and none meets a conflict', async (t) => {
  let kept: Lease = { record, annotations: {}, metadata: {} }
  const annotations = shared({
    ...store(undefined),
    get: async () => kept,
    async update(lease) {
      if (lease.metadata !== kept.metadata) return undefined
      kept = { ...lease, metadata: {} }
      return kept
    },
  })
  const given = new AbortController()
  given.abort()
  const writers = [signal, signal, given.signal, signal, signal, signal, signal]
  const done = await Promise.allSettled(writers.map((signal) => annotations.annotate(add, signal)))
  t.same(
    done.map((each) => each.status === 'fulfilled' && each.value),
    [true, true, false, true, true, true, true],
    'one that is given up holds nobody up',
  )
  t.equal(kept.annotations.b, '6')
})

for (const [skew, said] of [
  [900_000, /900 s behind the API server's.*NTP/],
  [-61_000, /61 s ahead of the API server's/],
] as const)
  t.test(`with a clock that is ${skew} ms off, nothing is read or written`, async (t) => {
    const annotations = shared(
      store({ record, annotations: {}, metadata: {} }, async () => {
        throw new Error('it would erase what others wrote')
      }),
      async () => skew,
    )
    for (let times = 0; times < 2; times++)
      await t.rejects(
        annotations.annotate(() => {
          throw new Error('the attempts of others are not judged')
        }, signal),
        { name: 'WrongClock', message: said },
      )
  })

t.test('where the time is not known, nothing is written', async (t) => {
  const annotations = shared(
    store({ record, annotations: { b: '4' }, metadata: {} }, async () => {
      throw new Error('it could erase what others wrote')
    }),
    async () => {
      throw forbidden
    },
  )
  t.ok(await annotations.annotate(add, signal))
  t.match(annotations.alone(), /what time it is/)
})

const forbidden = new ApiError('no', { status: 403, reason: 'Forbidden' })
for (const [what, lease, why] of [
  ['no API server', undefined, /no Lease/],
  ['no Lease', store(undefined), /no Lease/],
  [
    'no right to write it',
    store({ record, annotations: { b: '4' }, metadata: {} }, async () => {
      throw forbidden
    }),
    /is not allowed to write the Lease/,
  ],
] as const)
  t.test(`${what}: what was read counts, and what is added here`, async (t) => {
    const annotations = shared(lease)
    const seen: (string | undefined)[] = []
    for (let times = 0; times < 2; times++)
      t.ok(
        await annotations.annotate((annotations) => {
          seen.push(annotations.b)
          return add(annotations)
        }, signal),
      )
    t.same(seen, what === 'no right to write it' ? ['4', '5'] : [undefined, '1'])
    t.match(annotations.alone(), why)
  })
