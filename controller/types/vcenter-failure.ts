import type { Reason } from './reasons.ts'

/** Why a vCenter could not be asked. Proves nothing about any VM. */
export interface VCenterFailure {
  readonly vCenter: string
  readonly reason: Reason
  /** One sentence with the next step; no secret. */
  readonly message: string
  /** When it is tried again, milliseconds since the epoch, where that is far enough away to be told. */
  readonly retryAt?: number
  /** Set while a late answer may still come. */
  readonly waiting?: boolean
}
