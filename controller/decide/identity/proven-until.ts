import { type NodeReportStatus, timestamp } from '../../../agent/contract.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { isBoundTo } from '../binding.ts'

/**
 * How long a Node stays proven after its claim is gone. A reboot clears guestinfo or leaves the old boot's claim in it. The
 * agent writes a new claim when it starts and checks it every four to five minutes; vCenter shows it seconds to minutes
 * later.
 */
const CLAIM_GRACE_MS = 15 * 60_000

/**
 * Until when, RFC 3339, a Node that was proven to be this VM stays proven without a claim. Undefined where it was not
 * proven, or that time is over.
 */
export function provenUntil(previous: NodeReportStatus, vm: VirtualMachine, now: number): string | undefined {
  if (previous.identityLevel !== 'proven' || !isBoundTo(previous.vm, vm)) return undefined
  const until = previous.provenUntil ?? timestamp(now + CLAIM_GRACE_MS)
  return Date.parse(until) > now ? until : undefined
}
