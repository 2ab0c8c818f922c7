import type { LifecycleConfig } from '../../../../config/config.ts'
import type { Fleet } from './disruption-limit.ts'

const MINUTE = 60_000

/** Milliseconds until the rate allows another deletion; 0 for now. */
export function waitForRate({ deleted }: Pick<Fleet, 'deleted'>, settings: LifecycleConfig): number {
  const recent = deleted
    .map(({ ago }) => ago)
    .filter((ago) => ago < MINUTE)
    .sort((a, b) => a - b)
  const nth = recent[settings.deletionsPerMinute - 1]
  return nth === undefined ? 0 : MINUTE - nth
}
