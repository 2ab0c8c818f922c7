/** Why a fact cannot be read, or a claim does not stand. `docs/reasons.md` explains each: one that is added is added there. */
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
] as const

/** The last two are answers of a host that something else follows from; no report has them. */
export type AgentReason = (typeof AGENT_REASONS)[number] | 'NoValue' | 'Denied'

/** A fact of the machine, or why it could not be read and what to do about it. */
export type Fact<T> =
  | { readonly ok: true; readonly value: T }
  /** `message` is one sentence that never quotes what was read. */
  | { readonly ok: false; readonly reason: AgentReason; readonly message: string }

export function known<T>(value: T): Fact<T> {
  return { ok: true, value }
}

export function unreadable(reason: AgentReason, message: string): Fact<never> {
  return { ok: false, reason, message }
}
