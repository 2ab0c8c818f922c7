import { readSmallFile } from '../facts/files.ts'

/** The credential for one connection to the API server; files are read for each connection, because they rotate. */
export interface Credential {
  readonly server: URL
  /** PEM; by default the system's roots are used. */
  readonly ca: string | undefined
  /** Name to expect in the server's certificate instead of the host. */
  readonly serverName: string | undefined
  /** PEM. */
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined
  readonly token: string | undefined
}

/** Creates the credential for a connection; throws {@link CredentialError}. */
export type CredentialSource = () => Promise<Credential>

/** There is no usable credential. The message names the file and the next step, never the file's contents. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
}

/** More than any certificate, bundle of CAs or kubeconfig has. */
const MAX_FILE = 1 << 20

/**
 * Reads a credential's file.
 *
 * @param what the file is, as `token file`, for the message
 * @throws CredentialError
 */
export function readCredentialFile(what: string, path: string): string {
  const text = readSmallFile(path, MAX_FILE)
  if (!text.ok) throw new CredentialError(`${what} ${text.message}`)
  return text.value
}
