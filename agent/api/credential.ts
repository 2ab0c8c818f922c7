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

/** Reads a credential's file. */
export function unreadableFile(what: string, path: string, error: unknown): CredentialError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error'
  const step =
    code === 'ENOENT'
      ? 'is not there'
      : code === 'EACCES'
        ? 'may not be read: run the agent as root'
        : `cannot be read: ${code}`
  return new CredentialError(`${what} ${path} ${step}`)
}
