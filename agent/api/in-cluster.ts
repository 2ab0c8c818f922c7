import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { CredentialError, type CredentialSource, readCredentialFile } from './credential.ts'

export interface InClusterOptions {
  /** `KUBERNETES_SERVICE_HOST`. */
  readonly host: string | undefined
  /** `KUBERNETES_SERVICE_PORT`. */
  readonly port: string | undefined
  /** Folder with `token` and `ca.crt`. */
  readonly folder: string
}

/** The pod's service account; the kubelet renews the token's file well before the token expires. */
export function inClusterCredential({ host, port, folder }: InClusterOptions): CredentialSource {
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
