import * as v from 'valibot'
import { type LoginAttempt, type LoginAttempts, REMEMBERED } from '../types/login-attempts.ts'
import type { LeaseElector } from './lease-elector.ts'

const ANNOTATION = 'rollcall.dev/login-attempts'
/** Accounts that are kept: far more than anyone configures, and little beside the 256 KiB of an object's annotations. */
const MAX_ACCOUNTS = 64
/** Characters; we write less. More comes from somebody else, and could keep every login from being recorded. */
const MAX_TEXT = 128 * 1024
/** How often a write is tried that conflicts with others. */
const TRIES = 5

const AccountsText = v.pipe(
  v.string(),
  v.parseJson(),
  v.record(v.string(), v.array(v.object({ at: v.pipe(v.string(), v.isoTimestamp()), refused: v.boolean() }))),
)

type Accounts = v.InferOutput<typeof AccountsText>

/**
 * Keeps login attempts in an annotation of the replicas' Lease: only the leader logs in, the next leader reads the
 * annotation with the Lease, and no further permission is needed. Each write also renews the Lease, so it never delays a
 * renewal.
 */
export function createLoginAttempts(lease: Pick<LeaseElector, 'annotate'>): LoginAttempts {
  return {
    async update(account, change, signal) {
      for (let tries = 0; tries < TRIES; tries++) {
        const done = await lease.annotate((annotations) => {
          const { [account]: before = [], ...others } = parseAccounts(annotations[ANNOTATION])
          const changed = change(before.map(({ at, refused }) => ({ at: Date.parse(at), refused })))
          if (changed === undefined) return undefined
          const after = changed.map(({ at, refused }) => ({ at: new Date(at).toISOString(), refused }))
          const own = after.length === 0 ? {} : { [account]: after }
          return { ...annotations, [ANNOTATION]: JSON.stringify({ ...lately(others, changed), ...own }) }
        }, signal)
        if (done) return
      }
      throw new Error('this replica does not lead, or others wrote the Lease each time')
    },
  }
}

/** The accounts whose attempts may still count at the latest of these; of too many, those tried last. */
function lately(accounts: Accounts, attempts: readonly LoginAttempt[]): Accounts {
  const now = Math.max(...attempts.map(({ at }) => at))
  const counted = Object.entries(accounts)
    .map(([account, tried]) => ({ account, tried, last: Math.max(...tried.map(({ at }) => Date.parse(at))) }))
    // Without attempts there is no time to compare with.
    .filter(({ last }) => attempts.length === 0 || Math.abs(now - last) < REMEMBERED)
    .toSorted((a, b) => b.last - a.last)
    .slice(0, MAX_ACCOUNTS - 1)
  return Object.fromEntries(counted.map(({ account, tried }) => [account, tried]))
}

/** Anything not in the form that we write comes from somebody else and is ignored. */
function parseAccounts(text: string | undefined): Accounts {
  if (text !== undefined && text.length > MAX_TEXT) return {}
  const parsed = v.safeParse(AccountsText, text)
  return parsed.success ? parsed.output : {}
}
