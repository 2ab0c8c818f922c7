/** Why a vCenter could not be asked. Proves nothing about any VM. */
export interface VCenterFailure {
  readonly vCenter: string
  /** CamelCase, for conditions and metrics: `InvalidLogin`, `CertificateNotTrusted`, `Unreachable`, ... */
  readonly reason: string
  /** One sentence with the next step; no secret. */
  readonly message: string
  /** When it is tried again, milliseconds since the epoch, where that is far enough away to be told. */
  readonly retryAt?: number
}
