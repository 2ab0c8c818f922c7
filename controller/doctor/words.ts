import { type CheckResult, fail, skip } from '../../agent/shared/diagnosis.ts'
import type { Looked } from './look.ts'

/** What follows from what was seen. What the API server does not let this account see is neither good nor bad. */
export function resultOf<T>(seen: Looked<T>, judge: (seen: T) => CheckResult): CheckResult {
  if (seen.ok) return judge(seen.value)
  if (!seen.denied) return fail(seen.message)
  const [what] = seen.message.split(' was answered with 403')
  return skip(`this account may not look (${what}); use the kubeconfig of an administrator`)
}
