import type { Condition, ConditionType } from '../../agent/contract.ts'
import type { Verdict, Verdicts } from './verdict.ts'

/** An Event on the Node. */
export interface Announcement {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

const GOOD_NEWS: readonly ConditionType[] = ['Initialized']

/** What is new since the conditions that stand: a change of status or reason is said once, a repetition never. */
export function announce(previous: readonly Condition[], verdicts: Verdicts): Announcement[] {
  const announcements: Announcement[] = []
  for (const [type, verdict] of Object.entries(verdicts)) {
    const before = previous.find((condition) => condition.type === type)
    if (before?.status === verdict.status && before.reason === verdict.reason) continue
    if (verdict.status !== 'True') announcements.push(warning(verdict))
    else if (GOOD_NEWS.some((good) => good === type))
      announcements.push({ type: 'Normal', ...words(verdict) })
  }
  return announcements
}

export function warning(verdict: Verdict): Announcement {
  return { type: 'Warning', ...words(verdict) }
}

/** The part of a verdict that an Event takes. */
export function words({ reason, message }: Verdict): { reason: string; message: string } {
  return { reason, message }
}
