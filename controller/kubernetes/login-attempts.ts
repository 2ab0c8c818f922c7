import * as v from 'valibot'
import type { LoginAttempt, LoginAttempts } from '../types/login-attempts.ts'
import type { LeaseCandidate } from './lease-candidate.ts'

const ANNOTATION = 'rollcall.dev/login-attempts'
/** Milliseconds without an attempt after which an account is forgotten: it may no longer be configured. */
const FORGOTTEN_AFTER = 86_400_000
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
export function createLoginAttempts(lease: Pick<LeaseCandidate, 'annotate'>): LoginAttempts {
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

/** The accounts that were tried within a day of the latest of these attempts. */
function lately(accounts: Accounts, attempts: readonly LoginAttempt[]): Accounts {
  const latest = Math.max(...attempts.map(({ at }) => at))
  return Object.fromEntries(
    Object.entries(accounts).filter(([, tried]) =>
      tried.some(({ at }) => latest - Date.parse(at) < FORGOTTEN_AFTER),
    ),
  )
}

/** Anything not in the form that we write comes from somebody else and is ignored. */
function parseAccounts(text: string | undefined): Accounts {
  const parsed = v.safeParse(AccountsText, text)
  return parsed.success ? parsed.output : {}
}
