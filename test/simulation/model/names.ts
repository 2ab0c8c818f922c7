/** How long a controller takes to find a vCenter's address, and whether it does: in the stead of `vcenter/wire/names.ts`. */
import type { VCenterModel } from './vcenter.ts'

/** Milliseconds until it gives up; the same where it has an address that was good. */
const DEADLINE = 8_000
const DEADLINE_WITH_LAST = 1_000
/** Milliseconds for which a connection is kept without a request. */
const IDLE = 40_000

/** What a new connection waits for. */
export interface Resolved {
  /** Milliseconds. */
  readonly after: number
  /** Whether there is an address then. */
  readonly found: boolean
}

/** The names that one client of a vCenter resolves, and the connections that it keeps. */
export interface ModelNames {
  /** What a request waits for before it is sent: nothing, where a connection is kept for calls, or for polls. */
  resolve(kind: 'call' | 'poll', now: number): Resolved
  /** An answer has come on a connection. */
  answered(kind: 'call' | 'poll', now: number): void
}

export function createModelNames(vCenter: VCenterModel): ModelNames {
  const answeredAt = { call: Number.NEGATIVE_INFINITY, poll: Number.NEGATIVE_INFINITY }
  let hasLast = false
  return {
    resolve(kind, now) {
      const last = answeredAt[kind]
      if (vCenter.resolving === 0 || (now - last < IDLE && last > vCenter.brokeAt)) {
        hasLast = true
        return { after: 0, found: true }
      }
      const deadline = hasLast ? DEADLINE_WITH_LAST : DEADLINE
      const found = hasLast || vCenter.resolving <= deadline
      hasLast = found
      return { after: Math.min(vCenter.resolving, deadline), found }
    },
    answered(kind, now) {
      answeredAt[kind] = now
    },
  }
}
