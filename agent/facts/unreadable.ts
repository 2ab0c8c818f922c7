import type { Result } from '../shared/result.ts'

/** Why a fact cannot be read, or a claim does not stand as it should. `docs/reasons.md` explains each: one that is added is added there. */
export const AGENT_REASONS = [
  'Disabled',
  'Empty',
  'Failed',
  'Malformed',
  'NotFound',
  'NotKept',
  'NotSet',
  'NotVMware',
  'PermissionDenied',
  'PrivilegedChannelFailed',
  'PrivilegedChannelRefused',
  'TimedOut',
  'TooLong',
  'TooMany',
  'ToolMissing',
  'UnknownEncoding',
  'Unreadable',
  'WithoutNonce',
] as const

/** The last two are answers of a host that something else follows from; no report has them. */
export type AgentReason = (typeof AGENT_REASONS)[number] | 'NoValue' | 'Denied'

/** Why a fact could not be read. */
export interface Unreadable {
  readonly reason: AgentReason
  /** One sentence that says what to do about it, and never quotes what was read. */
  readonly message: string
}

export function unreadable(reason: AgentReason, message: string): Result<never, Unreadable> {
  return { ok: false, reason, message }
}
