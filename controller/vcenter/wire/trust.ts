/** Decides whether the machine at the other end of a TLS connection is the vCenter that was configured. */
import { isIP } from 'node:net'
import { connect, getCACertificates, type PeerCertificate, type TLSSocket } from 'node:tls'
import type { buildConnector } from 'undici'
import { CONNECTING } from '../../../agent/shared/connecting.ts'
import type { Trust } from '../../config/config.ts'
import { VCenterError } from './errors.ts'
import type { Names } from './names.ts'

/** Milliseconds of silence while a connection is made. */
const CONNECT_TIMEOUT = 10_000

/**
 * Also for a server that is not the vCenter itself: the CAs of this system count there, and those of the vCenter's `caFile`
 * besides. A thumbprint is the vCenter's own, and `insecure` is said of the vCenter alone.
 */
export type ServerTrust = Trust | { readonly kind: 'system and CA'; readonly pem: string | undefined }

/**
 * Opens connections that satisfy `trust`. Nothing is sent on a connection that does not.
 *
 * The certificate is checked after the handshake, because only then can a message name it. TLS sessions are never resumed:
 * a resumed session has no certificate.
 */
export function trustConnector(options: {
  readonly trust: ServerTrust
  /** Name of the vCenter for messages. */
  readonly server: string
  readonly names: Pick<Names, 'lookup'>
  /** Aborts connections that are still being opened. */
  readonly signal: AbortSignal
  /** Called with the certificate's expiry, milliseconds since the epoch, whether or not it is trusted. */
  readonly onCertificate?: ((expiresAt: number) => void) | undefined
}): buildConnector.connector {
  const { trust, server, names, signal, onCertificate } = options
  const ca = authorities(trust)
  return ({ hostname, port }, callback) => {
    const socket = connect({
      ...CONNECTING,
      host: hostname,
      lookup: names.lookup,
      // A URL does not keep its scheme's own port, which is vCenter's: undici hands on nothing then.
      port: port === '' ? 443 : Number(port),
      servername: isIP(hostname) === 0 ? hostname : '',
      rejectUnauthorized: false,
      ca,
      ALPNProtocols: ['http/1.1'],
      timeout: CONNECT_TIMEOUT,
    })
    // The long poll is silent for a minute, so TCP keep-alive helps to notice a dead peer.
    socket.setNoDelay(true).setKeepAlive(true, 30_000)
    const settle = (error: Error | undefined) => {
      signal.removeEventListener('abort', onAbort)
      socket.off('timeout', onTimeout).off('error', settle).setTimeout(0)
      if (error === undefined) return callback(null, socket)
      socket.on('error', () => undefined).destroy()
      callback(error, null)
    }
    const onAbort = () => settle(new Error('the connection was closed while it was being made'))
    const onTimeout = () =>
      settle(
        new VCenterError(
          'Unreachable',
          `${server} does not answer; check server, port, routes, firewalls and NetworkPolicies`,
        ),
      )
    signal.addEventListener('abort', onAbort, { once: true })
    socket
      .on('timeout', onTimeout)
      .on('error', settle)
      .once('secureConnect', () => {
        const certificate = socket.getPeerCertificate()
        // As in "Nov 28 16:00:00 2026 GMT"; anything else is ignored.
        const expiresAt = Date.parse(certificate.valid_to)
        if (!Number.isNaN(expiresAt)) onCertificate?.(expiresAt)
        settle(judge(trust, server, socket, certificate))
      })
  }
}

function authorities(trust: ServerTrust): string[] {
  switch (trust.kind) {
    case 'ca':
      return [trust.pem]
    case 'system and CA':
      return [...systemAuthorities(), ...(trust.pem === undefined ? [] : [trust.pem])]
    case 'system':
      return systemAuthorities()
    case 'thumbprint':
    case 'insecure':
      return []
  }
}

function systemAuthorities(): string[] {
  return [...new Set([...getCACertificates('default'), ...getCACertificates('system')])]
}

function judge(
  trust: ServerTrust,
  server: string,
  socket: TLSSocket,
  { fingerprint, fingerprint256 }: PeerCertificate,
): VCenterError | undefined {
  const sha1 = plain(fingerprint)
  const sha256 = plain(fingerprint256)
  switch (trust.kind) {
    case 'insecure':
      return undefined
    case 'thumbprint':
      if (trust.thumbprints.some((one) => one === sha1 || one === sha256)) return undefined
      return new VCenterError(
        'WrongThumbprint',
        `${server} shows a certificate with the SHA-256 thumbprint ${sha256} (SHA-1 ${sha1}) where ${trust.thumbprints.join(' or ')} ` +
          'is configured; check with the vCenter itself which is right and set thumbprint to it',
      )
    case 'ca':
    case 'system and CA':
    case 'system': {
      if (socket.authorized) return undefined
      const { by, advice } = WORDS[trust.kind]
      // Node's types say Error, but at run time it is the code, such as SELF_SIGNED_CERT_IN_CHAIN.
      const code = String(socket.authorizationError)
      return new VCenterError(
        'CertificateNotTrusted',
        `the certificate of ${server} is not trusted by ${by} (${code}, SHA-256 thumbprint ${sha256}); ${NOT_ITS_CA[code] ?? advice}`,
      )
    }
  }
}

/** Errors that another CA would not fix. */
const NOT_ITS_CA: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID:
    'it is for another name: check that DNS leads to your vCenter, and write server as it is in the certificate',
  CERT_HAS_EXPIRED: 'it has expired: renew it in vCenter, or set the clock of this machine',
  CERT_NOT_YET_VALID: 'it is not valid yet: set the clock of this machine',
}

const THIS =
  'check that this is your vCenter (server, port, DNS), then configure the CA that signed it or this thumbprint'
const WORDS = {
  ca: { by: 'the configured CA', advice: THIS },
  system: { by: "this system's CAs", advice: THIS },
  'system and CA': {
    by: "this system's CAs or those of caFile",
    advice: 'add the CA that signed it to caFile of the vCenter',
  },
} as const

function plain(fingerprint: string | undefined): string {
  return (fingerprint ?? '').replaceAll(':', '').toLowerCase()
}
