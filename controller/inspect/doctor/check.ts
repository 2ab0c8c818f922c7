import { type CheckResult, chain, fail, type Line, skip } from '../../../agent/shared/diagnosis.ts'
import { attempt, messageOf, type Result } from '../../../agent/shared/result.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import { VCenterError } from '../../vcenter/wire/errors.ts'

/** What a look has found, or why it could not see. */
export type Looked<T> = Result<
  T,
  {
    /** One sentence, without a stack. */
    readonly message: string
    /** Whether the API server forbids it to the account, which says nothing of what is there. */
    readonly denied: boolean
    /** Whether vCenter forbids it to its account: what that means depends on what is looked at. */
    readonly noPermission?: boolean
  }
>

/** Thrown by a look where this account lacks a right, and where that says nothing of the controller's. */
export class Denied extends Error {}

/** One thing that `doctor` checks. */
export interface Check<Around, Seen, Given> {
  readonly name: string
  /** The key of the check that must have seen something before; what it throws is what is wrong, and the next step. */
  readonly after?: string
  look(around: Around, signal: AbortSignal): Promise<Seen>
  /** What follows from what was seen. Pure. */
  judge(seen: Seen, given: Given): CheckResult
  /** What follows where vCenter forbids it to its account; without this it fails. */
  forbidden?(message: string): CheckResult
}

/** For rows of a table: what each sees follows from its look. */
export function checkOf<Around, Given>() {
  return <Seen>(row: Check<Around, Seen, Given>): Check<Around, Seen, Given> => row
}

/** Checks by their keys, in the order of their lines. */
type Checks<Around, Seen, Given> = { readonly [Key in keyof Seen]: Check<Around, Seen[Key], Given> }

/** What was seen, by the keys of checks; what was not looked at is missing. */
export type FactsOf<Table> = {
  [Key in keyof Table]?: Table[Key] extends Check<never, infer Seen, never> ? Looked<Seen> : never
}

/** Looks once. What goes wrong becomes part of the answer. */
export async function look<T>(work: () => Promise<T>): Promise<Looked<T>> {
  const done = await attempt(work)
  if (done.ok) return done
  const { error } = done
  return {
    ok: false,
    message: messageOf(error),
    denied: hasStatus(error, 403) || error instanceof Denied,
    noPermission: error instanceof VCenterError && error.reason === 'NoPermission',
  }
}

/** Looks side by side, each after the one that it depends on. */
export async function lookAll<Around, Seen>(
  checks: Checks<Around, Seen, never>,
  around: Around,
  signal: AbortSignal,
): Promise<{ [Key in keyof Seen]?: Looked<Seen[Key]> }> {
  const facts: { [Key in keyof Seen]?: Looked<Seen[Key]> } = {}
  const done = new Map<string, Promise<boolean>>()
  async function one(key: Extract<keyof Seen, string>): Promise<boolean> {
    const { after } = checks[key]
    if (after !== undefined && (await done.get(after)) !== true) return false
    const seen = await look(() => checks[key].look(around, signal))
    facts[key] = seen
    return seen.ok
  }
  for (const key in checks) done.set(key, one(key))
  await Promise.all(done.values())
  return facts
}

/**
 * The lines of checks. Pure.
 *
 * @param blocked a check outside of these that all of them depend on, where that has failed
 */
export function judgeAll<Seen, Given>(
  checks: Checks<never, Seen, Given>,
  facts: { readonly [Key in keyof Seen]?: Looked<Seen[Key]> },
  given: Given | undefined,
  { prefix = '', blocked }: { readonly prefix?: string; readonly blocked?: string } = {},
): readonly Line[] {
  const steps: [string, CheckResult | undefined][] = []
  for (const key in checks) {
    const seen = facts[key]
    const result = seen && given && judgeOne(checks[key], seen, given)
    steps.push([`${prefix}${checks[key].name}`, result])
  }
  return chain(steps, blocked)
}

/** What the API server does not let this account see is neither good nor bad. */
function judgeOne<Seen, Given>(
  { judge, forbidden }: Check<never, Seen, Given>,
  seen: Looked<Seen>,
  given: Given,
): CheckResult {
  if (seen.ok) return judge(seen.value, given)
  if (seen.noPermission && forbidden !== undefined) return forbidden(seen.message)
  if (!seen.denied) return fail(seen.message)
  const [what] = seen.message.split(' was answered with 403')
  return skip(`this account may not look (${what}); use the kubeconfig of an administrator`)
}

/** Reads once, for several checks: when the first of them asks. */
export function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => (reading ??= read())
}
