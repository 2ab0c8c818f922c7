import { type NodeReportStatus, timestamp } from '../../../agent/contract.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { isBoundTo } from '../binding.ts'

/**
 * How long a proof outlives its claim. A reboot clears guestinfo or leaves the old boot's claim in it, the agent writes a
 * new one when it starts and looks after it every four to five minutes, and vCenter shows it seconds to minutes later.
 */
const CLAIM_GRACE_MS = 15 * 60_000

/**
 * Until when, RFC 3339, a Node that was proven to be this VM stays so without a claim that says it; undefined where it
 * was not, or the time is over.
 */
export function provenUntil(previous: NodeReportStatus, vm: VirtualMachine, now: number): string | undefined {
  if (previous.identityLevel !== 'proven' || !isBoundTo(previous.vm, vm)) return undefined
  const until = previous.provenUntil ?? timestamp(now + CLAIM_GRACE_MS)
  return Date.parse(until) > now ? until : undefined
}
