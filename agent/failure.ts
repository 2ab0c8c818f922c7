import { ConnectionError } from './api/client.ts'
import { CredentialError } from './api/credential.ts'
import { IdentityError, NodeMissingError } from './identity.ts'
import { describe } from './log.ts'
import { ApiError } from './shared/api-error.ts'

/** Why a report was not sent, in words for the log. */
export interface Failure {
  readonly cause: string
  /** Identifies the cause across attempts, so that it is logged once; the cause itself by default. */
  readonly key?: string
  readonly message: string
  /** What to do about it. */
  readonly next: string
  /** How long the API server asks to wait, milliseconds. */
  readonly retryAfter?: number
}

/** The step of a report that failed. */
export type ReportStep = 'identify' | 'publish'

/** Explains an error of a {@link ReportStep}; undefined for any other error, which is a defect of the agent. */
export function explainFailure(error: unknown, step: ReportStep): Failure | undefined {
  if (error instanceof NodeMissingError) {
    const next =
      'waiting for the kubelet to register it; if it has, this credential is for another API server than the kubelet uses'
    return { cause: 'NodeMissing', message: error.message, next }
  }
  if (error instanceof IdentityError) {
    return { cause: 'NoNodeIdentity', message: error.message, next: error.next }
  }
  if (error instanceof CredentialError) {
    return { cause: 'NoCredential', message: error.message, next: 'the files are read again at each attempt' }
  }
  if (error instanceof ConnectionError) {
    return { cause: `NoConnection/${error.code}`, message: describe(error), next: connectionStep(error.code) }
  }
  if (!(error instanceof ApiError)) return undefined
  const { status, reason, message, retryAfter } = error
  const failure = {
    cause: [step, status, reason].filter((part) => part !== '').join('/'),
    // The reason is the server's text and may differ each time.
    key: `${step}/${status}`,
    message,
    next: apiStep(error, step),
  }
  return retryAfter === undefined ? failure : { ...failure, retryAfter }
}

function connectionStep(code: string): string {
  if (code === 'NotJSON') return 'check the server address of the kubeconfig'
  if (/^ERR_TLS_CERT_ALTNAME/.test(code))
    return "the certificate has another name: check the server's address"
  if (/^(ERR_OSSL|ERR_SSL|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)|_CERT/.test(code)) {
    return 'check certificate authority, client certificate and clock of this machine'
  }
  return 'waiting for the API server'
}

function apiStep({ status, message }: ApiError, step: ReportStep): string {
  // A policy's refusal is a 422 by default and a 403 where the policy says so.
  if (step === 'publish' && message.includes('ValidatingAdmissionPolicy')) {
    return 'the admission policy lets each node write its own report only: check whose credential this is'
  }
  // What server-side apply says, with a 500, of a field that is in no schema.
  if (message.includes('field not declared in schema'))
    return "the CRD is older than this agent: apply Rollcall's manifests of this agent's release"
  switch (status) {
    case 401:
      return 'the credential is expired or of another cluster: it is read again at each attempt'
    case 403:
      return step === 'publish'
        ? "grant create and patch on nodereports: apply Rollcall's RBAC manifests"
        : 'grant the right that the message names'
    case 404:
      return step === 'publish'
        ? "install the NodeReport resource: apply Rollcall's CRD"
        : 'SelfSubjectReview needs Kubernetes 1.28 or later'
    case 413:
      return 'the report is too large for a proxy in between: allow bodies of 4 kB'
    case 422:
      return "the schema refuses the field that the message names: apply Rollcall's manifests of this agent's release"
    case 429:
      return 'the API server is busy: waiting as long as it asks'
    default:
      return status >= 500 ? 'waiting for the API server' : 'see the API server and any proxy in front of it'
  }
}
