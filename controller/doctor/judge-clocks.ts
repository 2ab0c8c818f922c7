import { fail, ok, type Verdict, warn } from './line.ts'

/** Milliseconds: what the network and a whole second may add. */
const UNNOTICED = 10_000
/** Beyond this tokens and certificates of one machine are refused by another, and times in reports mislead. */
const MOST = 60_000

/** @param skew whose clock minus that of this machine, milliseconds */
export function behind(whose: string, skew: number): Verdict {
  const seconds = Math.round(Math.abs(skew) / 1000)
  if (Math.abs(skew) <= UNNOTICED) return ok('agrees with this machine')
  const message = `the clock of ${whose} is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} that of this machine; check NTP on both`
  return Math.abs(skew) > MOST ? fail(message) : warn(message)
}
