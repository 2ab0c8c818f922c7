import * as v from 'valibot'
import type { LoginAttempts } from '../facts/login-attempts.ts'
import type { Candidate } from './candidate.ts'

const ANNOTATION = 'rollcall.dev/login-attempts'
/** Of writes that others' came before. */
const TRIES = 5

const Accounts = v.pipe(
  v.string(),
  v.parseJson(),
  v.record(v.string(), v.array(v.object({ at: v.pipe(v.string(), v.isoTimestamp()), refused: v.boolean() }))),
)

/**
 * Remembers in an annotation of the replicas' Lease: only the leader logs in, the next one reads the annotation with the
 * Lease, and nobody needs another right than the leader has. Each write renews the Lease too, so it never comes in the
 * way of a renewal.
 */
export function createLoginAttempts(lease: Pick<Candidate, 'annotate'>): LoginAttempts {
  return {
    async update(account, change, signal) {
      for (let tries = 0; tries < TRIES; tries++) {
        const done = await lease.annotate((annotations) => {
          const { [account]: before = [], ...others } = parseAccounts(annotations[ANNOTATION])
          const changed = change(before.map(({ at, refused }) => ({ at: Date.parse(at), refused })))
          if (changed === undefined) return undefined
          const after = changed.map(({ at, refused }) => ({ at: new Date(at).toISOString(), refused }))
          const own = after.length === 0 ? {} : { [account]: after }
          return { ...annotations, [ANNOTATION]: JSON.stringify({ ...others, ...own }) }
        }, signal)
        if (done) return
      }
      throw new Error('this replica does not lead, or others wrote the Lease each time')
    },
  }
}

/** What is not as we write it was written by somebody else, and is no memory of ours. */
function parseAccounts(text: string | undefined): v.InferOutput<typeof Accounts> {
  const parsed = v.safeParse(Accounts, text)
  return parsed.success ? parsed.output : {}
}
