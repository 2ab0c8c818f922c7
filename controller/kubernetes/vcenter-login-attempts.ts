import * as v from 'valibot'
import { type LoginAttempt, type LoginAttempts, REMEMBERED } from '../types/vcenter-login-attempts.ts'
import type { LeaseRenewer } from './lease-renewer.ts'

const ANNOTATION = 'rollcall.dev/login-attempts'
/**
 * Names that are kept, about four for each account: far more than anyone configures, and less than half of the 256 KiB of an
 * object's annotations.
 */
const MAX_NAMES = 128
/** Characters; we write less. More comes from somebody else, and could keep every login from being recorded. */
const MAX_TEXT = 128 * 1024
/** How often a write is tried that conflicts with others. */
const TRIES = 5

const AttemptText = v.object({ at: v.pipe(v.string(), v.isoTimestamp()), refused: v.boolean() })
const AccountsText = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.array(AttemptText)))

type AttemptText = v.InferOutput<typeof AttemptText>
type Accounts = v.InferOutput<typeof AccountsText>

/**
 * Keeps login attempts in an annotation of the replicas' Lease: only the leader logs in, the next leader reads the
 * annotation with the Lease, and no further permission is needed. Each write also renews the Lease, so it never delays a
 * renewal.
 */
export function createLoginAttempts(lease: Pick<LeaseRenewer, 'annotate'>): LoginAttempts {
  return {
    async update(names, change, signal) {
      for (let tries = 0; tries < TRIES; tries++) {
        const done = await lease.annotate((annotations) => {
          const accounts = new Map(Object.entries(parseAccounts(annotations[ANNOTATION])))
          const changed = change(names.map((name) => (accounts.get(name) ?? []).map(fromText)))
          if (changed === undefined) return undefined
          for (const name of names) accounts.delete(name)
          const kept = lately(accounts, changed.flat(), MAX_NAMES - names.length)
          const own = names
            .map((name, index) => [name, (changed[index] ?? []).map(toText)] as const)
            .filter(([, after]) => after.length > 0)
          return { ...annotations, [ANNOTATION]: JSON.stringify(Object.fromEntries([...kept, ...own])) }
        }, signal)
        if (done) return
      }
      throw new Error('this replica does not lead, or others wrote the Lease each time')
    },
  }
}

/** The accounts whose attempts may still count at the latest of these; of too many, those tried last. */
function lately(
  accounts: ReadonlyMap<string, readonly AttemptText[]>,
  attempts: readonly LoginAttempt[],
  most: number,
): (readonly [name: string, tried: readonly AttemptText[]])[] {
  const now = Math.max(...attempts.map(({ at }) => at))
  return (
    Array.from(accounts, ([name, tried]) => ({
      name,
      tried,
      last: Math.max(...tried.map(({ at }) => Date.parse(at))),
    }))
      // Without attempts there is no time to compare with.
      .filter(({ last }) => attempts.length === 0 || Math.abs(now - last) < REMEMBERED)
      .toSorted((a, b) => b.last - a.last)
      .slice(0, Math.max(0, most))
      .map(({ name, tried }) => [name, tried] as const)
  )
}

function fromText({ at, refused }: AttemptText): LoginAttempt {
  return { at: Date.parse(at), refused }
}

function toText({ at, refused }: LoginAttempt): AttemptText {
  return { at: new Date(at).toISOString(), refused }
}

/** Anything not in the form that we write comes from somebody else and is ignored. */
function parseAccounts(text: string | undefined): Accounts {
  if (text !== undefined && text.length > MAX_TEXT) return {}
  const parsed = v.safeParse(AccountsText, text)
  return parsed.success ? parsed.output : {}
}
