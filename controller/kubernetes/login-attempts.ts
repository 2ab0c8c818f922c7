import * as v from 'valibot'
import type { LoginAttempts } from '../facts/login-attempts.ts'
import type { LeaseStore } from './lease.ts'

const ANNOTATION = 'rollcall.dev/login-attempts'
/** The leader renews the Lease every two seconds, so that one conflict is likely and a second is not. */
const TRIES = 5

const Annotated = v.looseObject({
  metadata: v.looseObject({ annotations: v.nullish(v.record(v.string(), v.string()), {}) }),
})
const Accounts = v.pipe(
  v.string(),
  v.parseJson(),
  v.record(v.string(), v.array(v.object({ at: v.pipe(v.string(), v.isoTimestamp()), refused: v.boolean() }))),
)

/**
 * Remembers in an annotation of the replicas' Lease: leader election sends annotations back as they came, and nobody
 * needs another right than the leader has.
 */
export function createLoginAttempts(lease: Pick<LeaseStore, 'get' | 'update'>): LoginAttempts {
  return {
    async update(account, change, signal) {
      for (let tries = 0; tries < TRIES; tries++) {
        const found = await lease.get(signal)
        if (found === undefined) throw new Error('there is no Lease to remember the login in')
        const object = v.parse(Annotated, found.object)
        const { annotations } = object.metadata
        const { [account]: before = [], ...others } = parseAccounts(annotations[ANNOTATION])
        const changed = change(before.map(({ at, refused }) => ({ at: Date.parse(at), refused })))
        if (changed === undefined) return
        const after = changed.map(({ at, refused }) => ({ at: new Date(at).toISOString(), refused }))
        const own = after.length === 0 ? {} : { [account]: after }
        const text = JSON.stringify({ ...others, ...own })
        const metadata = { ...object.metadata, annotations: { ...annotations, [ANNOTATION]: text } }
        if (await lease.update({ ...found, object: { ...object, metadata } }, found.record, signal)) return
      }
      throw new Error('others wrote the Lease each time')
    },
  }
}

/** What is not as we write it was written by somebody else, and is no memory of ours. */
function parseAccounts(text: string | undefined): v.InferOutput<typeof Accounts> {
  const parsed = v.safeParse(Accounts, text)
  return parsed.success ? parsed.output : {}
}
