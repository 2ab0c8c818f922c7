/** Decides whether the machine at the other end of a TLS connection is the vCenter that was configured. */
import { getCACertificates, TLSSocket } from 'node:tls'
import { buildConnector } from 'undici'
import type { Trust } from '../../config/config.ts'
import { VCenterError } from './errors.ts'

/** Milliseconds for TCP and TLS together. */
const CONNECT_TIMEOUT = 10_000

/**
 * Opens connections that meet `trust`. No byte of a request is sent on one that does not.
 *
 * The handshake is let through and judged afterwards, for only then is the certificate at hand to be named in the
 * message. TLS sessions are never resumed: a resumed one carries no certificate.
 */
export function trustConnector(trust: Trust, server: string): buildConnector.connector {
  const connect = buildConnector({
    rejectUnauthorized: false,
    ca: authorities(trust),
    maxCachedSessions: 0,
    allowH2: false,
    timeout: CONNECT_TIMEOUT,
  })
  return (options, callback) => {
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null)
      const refusal =
        socket instanceof TLSSocket
          ? judge(trust, server, socket)
          : new VCenterError(
              'NotVCenter',
              `${server} was reached without TLS, give its host name and port only`,
            )
      if (refusal === undefined) return callback(null, socket)
      socket.destroy()
      callback(refusal, null)
    })
  }
}

function authorities(trust: Trust): string[] {
  switch (trust.kind) {
    case 'ca':
      return [trust.pem]
    case 'system':
      return [...new Set([...getCACertificates('default'), ...getCACertificates('system')])]
    case 'thumbprint':
    case 'insecure':
      return []
  }
}

function judge(trust: Trust, server: string, socket: TLSSocket): VCenterError | undefined {
  const { fingerprint, fingerprint256 } = socket.getPeerCertificate()
  const sha1 = plain(fingerprint)
  const sha256 = plain(fingerprint256)
  switch (trust.kind) {
    case 'insecure':
      return undefined
    case 'thumbprint':
      if (trust.thumbprint === sha1 || trust.thumbprint === sha256) return undefined
      return new VCenterError(
        'WrongThumbprint',
        `${server} shows a certificate with the SHA-256 thumbprint ${sha256} (SHA-1 ${sha1}) where ${trust.thumbprint} ` +
          'is configured, check with the vCenter itself which is right and set thumbprint to it',
      )
    case 'ca':
    case 'system': {
      if (socket.authorized) return undefined
      const by = trust.kind === 'ca' ? 'the configured CA' : "this system's CAs"
      // Node's types promise an Error here; at run time it is the code, such as SELF_SIGNED_CERT_IN_CHAIN.
      return new VCenterError(
        'CertificateNotTrusted',
        `the certificate of ${server} is not trusted by ${by} (${String(socket.authorizationError)}, SHA-256 thumbprint ` +
          `${sha256}), configure the CA that signed it or this thumbprint`,
      )
    }
  }
}

function plain(fingerprint: string | undefined): string {
  return (fingerprint ?? '').replaceAll(':', '').toLowerCase()
}
