import type { Clock } from '../../../agent/shared/clock.ts'
import { type CheckResult, fail, skip } from '../../../agent/shared/diagnosis.ts'
import { attempt, ok, type Result } from '../../../agent/shared/result.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import { VCenterError } from '../../vcenter/wire/errors.ts'

/** What a look has found, or why it could not see. */
export type Looked<T> = Result<T, Unseen>

export interface Unseen {
  /** One sentence, without a stack. */
  readonly message: string
  /** Whether the API server forbids it to the account, which says nothing of what is there. */
  readonly denied: boolean
  /** Whether vCenter forbids it to its account: what that means depends on what is looked at. */
  readonly noPermission?: boolean
}

/** Looks once. What goes wrong becomes part of the answer. */
export async function look<T>(work: () => Promise<T>): Promise<Looked<T>> {
  const done = await attempt(work)
  if (done.ok) return done
  const { error } = done
  return {
    ok: false,
    message: error instanceof Error ? error.message : String(error),
    denied: hasStatus(error, 403),
    noPermission: error instanceof VCenterError && error.reason === 'NoPermission',
  }
}

/**
 * @param work cannot be aborted: where it takes longer, it is no longer waited for
 * @throws what it throws, or an Error where it takes longer
 */
export async function within<T>(
  milliseconds: number,
  what: string,
  work: Promise<T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<T> {
  const over = new AbortController()
  const late = clock.sleep(milliseconds, AbortSignal.any([signal, over.signal])).then(() => undefined)
  try {
    const first = await Promise.race([work.then(ok), late])
    if (first === undefined) throw new Error(`${what} took longer than ${milliseconds / 1000} s`)
    return first.value
  } finally {
    over.abort()
  }
}

/** What follows from what was seen. What the API server does not let this account see is neither good nor bad. */
export function resultOf<T>(seen: Looked<T>, judge: (seen: T) => CheckResult): CheckResult {
  if (seen.ok) return judge(seen.value)
  if (!seen.denied) return fail(seen.message)
  const [what] = seen.message.split(' was answered with 403')
  return skip(`this account may not look (${what}); use the kubeconfig of an administrator`)
}
