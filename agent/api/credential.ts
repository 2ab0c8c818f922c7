import { readSmallFile } from '../facts/files.ts'

/** What one connection to the API server is made with; files are read at that moment, for they rotate. */
export interface Credential {
  readonly server: URL
  /** PEM; without it the system's roots count. */
  readonly ca: string | undefined
  /** Name to expect in the server's certificate instead of the host. */
  readonly serverName: string | undefined
  /** PEM. */
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined
  readonly token: string | undefined
}

/** Makes a credential anew for each connection; throws {@link CredentialError}. */
export type CredentialSource = () => Promise<Credential>

/** There is no usable credential; the message names the file and the next step, never what stands in it. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
}

/** More than any certificate, bundle of CAs or kubeconfig has. */
const MAX_FILE = 1 << 20

/**
 * Reads a credential's file anew.
 *
 * @param what the file is, as `token file`, for the message
 * @throws CredentialError
 */
export function readCredentialFile(what: string, path: string): string {
  const text = readSmallFile(path, MAX_FILE)
  if (!text.ok) throw new CredentialError(`${what} ${text.message}`)
  return text.value
}
