import { constants } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { type PeerCertificate, type SecureContextOptions, TLSSocket } from 'node:tls'
import type { AccessRequest, ClientCertificate, Denial } from '../kubernetes/delegated-access.ts'
import type { Logger } from '../lib/log.ts'
import type { Metrics } from './metrics.ts'

/** The state of a part of the process, in plain lines for a person. */
export interface HealthStatus {
  readonly ok: boolean
  readonly text: string
}

export interface TelemetryServerOptions {
  /** Empty means every address of the machine. */
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>
  /** Whether this process is healthy; otherwise it should be restarted. */
  readonly healthy: () => HealthStatus
  /** Whether it can do its work, otherwise what is missing. */
  readonly ready: () => HealthStatus
  /** HTTPS, for those alone who may see it; without this, plain HTTP for everybody. */
  readonly secure?: {
    readonly tls: ServingTLS
    /** Undefined where the request may be answered. */
    readonly judge: (request: AccessRequest) => Promise<Denial | undefined>
  }
  readonly logger: Logger
}

export interface ServingTLS extends Omit<SecureContextOptions, 'ca' | 'secureOptions'> {
  /** PEM of the CAs whose client certificates are believed. Clients are asked for one only if this is set, even if empty. */
  readonly clientCAs?: readonly string[] | undefined
}

export interface TelemetryServer {
  /**
   * Resolves when it accepts connections.
   *
   * @throws when the address cannot be bound
   */
  listen(): Promise<{ readonly port: number }>
  /** Takes another certificate or other CAs for new connections; of no meaning without TLS. */
  setTLS(tls: ServingTLS): void
  /** Ends every connection. */
  close(): Promise<void>
}

/** Enough for a scraper and a few probes; beyond that the oldest connection is closed. */
const MAX_CONNECTIONS = 64
/** Milliseconds for a whole request to arrive. A scrape's answer is some 20 kB. */
const REQUEST_TIMEOUT = 5_000
/** Milliseconds without any data, in either direction. */
const IDLE_TIMEOUT = 10_000
const MAX_HEADERS = 8 * 1024
/** A token with many groups has some 10 kB, one with a Kerberos ticket up to 64 kB. Go would take 1 MB from each connection. */
const MAX_HEADERS_WITH_TOKEN = 128 * 1024
const LIMITS = {
  headersTimeout: REQUEST_TIMEOUT,
  requestTimeout: REQUEST_TIMEOUT,
  connectionsCheckingInterval: REQUEST_TIMEOUT / 5,
}

const TEXT = 'text/plain; charset=utf-8'

interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** A port of the controller's: metrics for Prometheus, health and readiness for the kubelet and for people. */
export function createTelemetryServer(options: TelemetryServerOptions): TelemetryServer {
  const { host, port, metrics, healthy, ready, secure, logger } = options
  const flag = secure === undefined ? '--listen' : '--secure-port'

  const pages: ReadonlyMap<string, () => Promise<Answer>> = new Map([
    ['/metrics', async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() })],
    ['/healthz', async () => health(healthy())],
    ['/readyz', async () => health(ready())],
  ])

  async function answer(request: AccessRequest): Promise<Answer> {
    // Before anybody is asked who may: what is not there is no secret.
    const page = pages.get(request.path)
    if (page === undefined) return plain(404, 'there is /metrics, /healthz and /readyz')
    if (!['GET', 'HEAD'].includes(request.method)) return plain(405, 'only GET and HEAD are answered here')
    const denial = await secure?.judge(request)
    return denial === undefined ? page() : plain(denial.status, denial.line)
  }

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const { authorization } = request.headers
    answer({ method: request.method ?? '', path, authorization, certificate: certificateOf(request.socket) })
      .catch((error: unknown) => {
        logger.error({ err: error, path }, 'telemetry request failed')
        return plain(500, 'failed, the log says why')
      })
      .then((given) => write(request, response, given))
      .catch((error: unknown) => logger.error({ err: error, path }, 'telemetry answer not written'))
  }
  const secured = secure && createSecureServer({ ...LIMITS, ...tlsOptions(secure.tls) }, handle)
  const server: Server = secured ?? createServer({ ...LIMITS, maxHeaderSize: MAX_HEADERS }, handle)
  /** In order of arrival. */
  const connections = new Set<Socket>()
  server.on('connection', (connection) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
    // The new one is kept: a client that holds all connections open must not keep the kubelet out.
    const [oldest] = connections
    if (connections.size > MAX_CONNECTIONS) oldest?.destroy()
  })
  server.setTimeout(IDLE_TIMEOUT)

  return {
    async listen() {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      server.once('error', reject)
      server.listen({ host, port }, resolve)
      try {
        await promise
      } catch (error) {
        throw new Error(cannotListen(flag, host, port, error), { cause: error })
      } finally {
        server.off('error', reject)
      }
      server.on('error', (error) => logger.error({ err: error }, 'telemetry port failed'))
      const address = server.address()
      return { port: typeof address === 'object' ? (address?.port ?? port) : port }
    },
    setTLS: (tls) => secured?.setSecureContext(contextOf(tls)),
    async close() {
      if (!server.listening) return
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      // Node's own closeAllConnections() leaves those that are still in the TLS handshake.
      for (const connection of connections) connection.destroy()
      await closed
    },
  }
}

function tlsOptions(tls: ServingTLS) {
  return {
    ...contextOf(tls),
    requestCert: tls.clientCAs !== undefined,
    // Who shows none, or a wrong one, may have a token.
    rejectUnauthorized: false,
    handshakeTimeout: REQUEST_TIMEOUT,
    maxHeaderSize: MAX_HEADERS_WITH_TOKEN,
  }
}

function contextOf({ clientCAs = [], ...tls }: ServingTLS): SecureContextOptions {
  return {
    ...tls,
    // Without a list Node.js would believe the client certificates of every public CA.
    ca: [...clientCAs],
    // No session is resumed, so that each connection's certificate is verified again.
    secureOptions: constants.SSL_OP_NO_TICKET,
  }
}

/** Undefined where the client shows none. */
function certificateOf(socket: Socket): ClientCertificate | undefined {
  if (!(socket instanceof TLSSocket)) return undefined
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return undefined
  // An empty subject is none to Node.js.
  const subject: PeerCertificate['subject'] | undefined = certificate.toLegacyObject().subject
  return {
    verified: socket.authorized,
    // Of several the last one counts, as in Go.
    commonName: [subject?.CN ?? ''].flat().at(-1) ?? '',
    organizations: [subject?.O ?? []].flat(),
  }
}

function plain(status: number, line: string): Answer {
  return { status, contentType: TEXT, body: `${line}\n` }
}

function health({ ok, text }: HealthStatus): Answer {
  return plain(ok ? 200 : 503, text)
}

function write(
  request: IncomingMessage,
  response: ServerResponse,
  { status, contentType, body }: Answer,
): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    // No client asks often enough to need keep-alive, idle connections take up slots, and request bodies are not read.
    connection: 'close',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

function cannotListen(flag: string, host: string, port: number, error: unknown): string {
  const where = `${flag} ${host.includes(':') ? `[${host}]` : host}:${port}`
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return `${where}: another program has this port; choose another, or end that program`
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
      return `${where}: this machine does not have that address; name one that it has, or none for all`
    case 'EACCES':
      return `${where}: this user may not have that port; choose one above 1023`
    default:
      return `${where}: cannot listen there (${typeof code === 'string' ? code : 'no code'}); choose another`
  }
}

/** Where a kubelet asks that knows no address of its Node. */
const LOOPBACK = '127.0.0.1'
/** With these that one is there already. */
const HAVE_LOOPBACK: readonly string[] = ['', '0.0.0.0', '::', 'localhost', LOOPBACK]

/**
 * Opens the plain port, and the same one on loopback where it has another address alone. A Pod of the host's network has no
 * address before its Node has, and its probes go to loopback meanwhile: unanswered, they would end the controller before it has
 * initialized the Node that it runs on.
 *
 * @throws when the address cannot be bound; that loopback's cannot is logged
 */
export async function openPlainPort(
  options: Omit<TelemetryServerOptions, 'secure'>,
): Promise<Pick<TelemetryServer, 'close'>> {
  const server = createTelemetryServer(options)
  const { port } = await server.listen()
  if (HAVE_LOOPBACK.includes(options.host)) return server
  const local = createTelemetryServer({ ...options, host: LOOPBACK, port })
  try {
    await local.listen()
  } catch (error) {
    options.logger.warn(
      { err: error },
      'cannot listen on the loopback address: probes fail until the Node has an address',
    )
  }
  return {
    async close() {
      await Promise.all([server.close(), local.close()])
    },
  }
}
