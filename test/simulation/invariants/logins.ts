import type { LoginWatch } from '../model/link.ts'
import type { SessionModel } from '../model/vcenter.ts'

/** A refused credential is never tried again, and nobody has two sessions. */
export function createLoginJudge(violate: (promise: string, what: string) => void): LoginWatch {
  const refused = new Set<string>()
  const sessions = new Map<string, SessionModel>()
  return {
    tried(owner) {
      if (refused.has(owner)) violate('no login after a refused one', `${owner} logs in again`)
    },
    refused: (owner) => refused.add(owner),
    accepted(owner, session) {
      const before = sessions.get(owner)
      // Whoever hears of its end, or has ended it, has none.
      if (before?.onEnd !== undefined)
        violate('one session', `${owner} has ${before.key} still, and ${session.key}`)
      sessions.set(owner, session)
    },
  }
}
