/** Why a vCenter could not be asked. Proves nothing about any VM. */
export interface VCenterFailure {
  readonly vCenter: string
  /** CamelCase, for conditions and metrics: `InvalidLogin`, `CertificateNotTrusted`, `Unreachable`, ... */
  readonly reason: string
  /** One sentence with the next step; no secret. */
  readonly message: string
}
