import type { LoginWatch } from '../model/connection.ts'
import type { SessionModel } from '../model/session.ts'

/** By default a vCenter locks an account at the fifth failure within three minutes, and forgets them at a success. */
const LOCKOUT = { failures: 5, within: 180_000 }
/** Of a password that a process has heard to be refused; by REST, when SOAP has accepted it. */
const PAUSE = { SOAP: 900_000, REST: 30_000 }

/** How many sessions a client may leave behind in a row within the time after which they expire. */
const LOST = { SOAP: 11, REST: 2, within: 1_800_000 }

export interface LoginJudge extends Omit<LoginWatch, 'showed'> {
  /** A vCenter has judged a credential; `reckons` where the clock of who sent it is of any use. */
  judged(vCenter: string, accepted: boolean, reckons: boolean): void
}

/**
 * A refused credential is tried again seldom, an account is never locked, nobody opens a second session beside one that he has
 * not left, and lost answers leave few.
 */
export function createLoginJudge(
  violate: (promise: string, what: string) => void,
  now: () => number,
): LoginJudge {
  const refused = new Map<string, number>()
  const failures = new Map<string, readonly number[]>()
  const sessions = new Map<string, SessionModel>()
  const lost = new Map<string, readonly number[]>()
  return {
    tried(owner, by) {
      const ago = now() - (refused.get(`${accountOf(owner)} ${by}`) ?? Number.NEGATIVE_INFINITY)
      if (ago < PAUSE[by])
        violate('a refused credential rests', `${owner} logs in again after ${Math.round(ago / 1000)} s`)
    },
    refused: (owner, by) => refused.set(`${accountOf(owner)} ${by}`, now()),
    accepted(owner, session) {
      refused.delete(`${accountOf(owner)} SOAP`)
      // From this session it ends what earlier logins have left.
      lost.delete(`${owner} SOAP`)
      const before = sessions.get(owner)
      if (before?.over === false)
        violate('one session', `${owner} has ${before.key} still, and ${session.key}`)
      sessions.set(owner, session)
    },
    left: (owner) => void sessions.delete(owner),
    lost(owner, by) {
      const key = `${owner} ${by}`
      const lately = (lost.get(key) ?? []).filter((at) => now() - at < LOST.within)
      lost.set(key, [...lately, now()])
      if (lately.length >= LOST[by])
        violate('few sessions are left behind', `${key} has lost ${lately.length + 1} in half an hour`)
    },
    judged(vCenter, accepted, reckons) {
      // Attempts that are remembered at a wrong time cannot be counted, nor can those before them.
      if (accepted || !reckons) {
        failures.delete(vCenter)
        return
      }
      const lately = (failures.get(vCenter) ?? []).filter((at) => now() - at < LOCKOUT.within)
      failures.set(vCenter, [...lately, now()])
      if (lately.length + 1 >= LOCKOUT.failures)
        violate('no account is locked', `${vCenter} has refused ${lately.length + 1} logins in three minutes`)
    },
  }
}

/** All terms of a process have one memory. */
function accountOf(owner: string): string {
  const [process = '', , vCenter = ''] = owner.split('/')
  return `${process}/${vCenter}`
}
