import { isIPv6 } from 'node:net'
import { join } from 'node:path'
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

/**
 * The pod's service account; the kubelet renews the token's file well before the token expires.
 *
 * @param options `KUBERNETES_SERVICE_HOST`, `KUBERNETES_SERVICE_PORT`, and the folder with `token` and `ca.crt`
 */
export function inClusterCredential(options: {
  readonly host: string | undefined
  readonly port: string | undefined
  readonly folder: string
}): CredentialSource {
  const { host, port, folder } = options
  return async () => {
    if (!host || !port) {
      throw new CredentialError(
        'no credential: name one with --kubeconfig, or run in a pod, where KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are set',
      )
    }
    const address = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
    if (!URL.canParse(address)) {
      throw new CredentialError(
        'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not an address and a port',
      )
    }
    const token = readCredentialFile('token file', join(folder, 'token')).trim()
    if (token === '') throw new CredentialError(`token file ${join(folder, 'token')} is empty`)
    return {
      server: new URL(address),
      ca: readCredentialFile('CA file', join(folder, 'ca.crt')),
      serverName: undefined,
      clientCertificate: undefined,
      token,
    }
  }
}
