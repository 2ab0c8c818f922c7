import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { KubeConfig, type RequestContext } from '@kubernetes/client-node'
import { Agent } from 'undici'
import * as v from 'valibot'
import { parse } from 'yaml'

/** Where the credentials for the API server are. */
export type CredentialSource =
  /** Files that the kubeconfig names are read anew for each request; the kubeconfig itself once. */
  | { readonly kind: 'kubeconfig'; readonly path: string }
  /** A pod's service account; host and port as in `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`. */
  | { readonly kind: 'in-cluster'; readonly host: string; readonly port: string; readonly folder: string }

/** Where the kubelet puts a pod's service account. */
export const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The one field of a kubeconfig that client-node does not know. */
const TokenFiles = v.object({
  users: v.array(
    v.object({ name: v.string(), user: v.nullish(v.object({ tokenFile: v.optional(v.string()) })) }),
  ),
})
const TOKEN_FILE_USER = 'rollcall-token-file'

type Tls = NonNullable<ConstructorParameters<typeof Agent>[0]>['connect'] & object

/** What the TLS options of a connection are made from; a change of any needs new connections. */
interface Identity {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
  readonly rejectUnauthorized?: boolean
  readonly servername?: string
}

/**
 * client-node's credentials over connections that are kept.
 *
 * client-node opens a new TLS connection for every request. Here one agent serves them all, and is replaced when the
 * bytes of the CA or the client certificate change; what is under way on the old one ends there.
 */
export class Credentials extends KubeConfig {
  #identity: Identity | undefined
  #agent: Agent | undefined
  readonly #retired = new Set<Agent>()

  /** Reads the source; throws an Error that names the file when it cannot be used. */
  static load(source: CredentialSource): Credentials {
    const credentials = new Credentials()
    if (source.kind === 'kubeconfig') credentials.#loadKubeconfig(source.path)
    else credentials.#loadServiceAccount(source)
    return credentials
  }

  #loadKubeconfig(path: string): void {
    try {
      this.loadFromFile(path)
    } catch (cause) {
      throw new Error(
        `cannot read the kubeconfig ${path}: check that the file is there and is a kubeconfig`,
        {
          cause,
        },
      )
    }
    const cluster = this.getCurrentCluster()
    if (!cluster)
      throw new Error(`the kubeconfig ${path} has no current context with a cluster: set current-context`)
    if (cluster.proxyUrl) {
      throw new Error(
        `the kubeconfig ${path} has a proxy-url, which is not supported: name the API server directly`,
      )
    }
    this.#takeTokenFile(path)
  }

  /** client-node passes `tokenFile` over, and would go on as nobody. Read again when a minute old, as client-go does. */
  #takeTokenFile(path: string): void {
    const user = this.getCurrentUser()
    const parsed = v.safeParse(TokenFiles, parse(readFileSync(path, 'utf8')))
    const entry = parsed.success && parsed.output.users.find(({ name }) => name === user?.name)
    const tokenFile = entry ? entry.user?.tokenFile : undefined
    if (tokenFile !== undefined && user) {
      const config = { tokenFile: resolve(dirname(path), tokenFile) }
      this.addUser({ ...user, name: TOKEN_FILE_USER, authProvider: { name: 'tokenFile', config } })
      this.#useUser(TOKEN_FILE_USER)
      return
    }
    const { token, certData, certFile, exec, authProvider, username } = user ?? {}
    if ([token, certData, certFile, exec, authProvider, username].every((given) => !given)) {
      throw new Error(
        `the kubeconfig ${path} has no credential for its current user: give it a client certificate or a token`,
      )
    }
  }

  #useUser(name: string): void {
    const cluster = this.getCurrentCluster()
    if (cluster) this.addContext({ name, cluster: cluster.name, user: name })
    this.setCurrentContext(name)
  }

  #loadServiceAccount({ host, port, folder }: CredentialSource & { kind: 'in-cluster' }): void {
    const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
    this.loadFromClusterAndUser(
      { name: 'in-cluster', server, caFile: `${folder}/ca.crt`, skipTLSVerify: false },
      // client-node reads the file again when what it has is a minute old, as client-go does.
      {
        name: 'service-account',
        authProvider: { name: 'tokenFile', config: { tokenFile: `${folder}/token` } },
      },
    )
  }

  /** Base URL of the API server, without a slash at its end. */
  get server(): string {
    return (this.getCurrentCluster()?.server ?? '').replace(/\/+$/, '')
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] & { servername?: string } = {}
    await this.applyToHTTPSOptions(options)
    // A token in a file often ends with a newline, which no header may have.
    for (const [name, value] of Object.entries(options.headers ?? {}))
      context.setHeaderParam(name, String(value).trim())
    if (typeof options.auth === 'string') {
      context.setHeaderParam('Authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`)
    }
    const { ca, cert, key, rejectUnauthorized, servername } = options
    context.setDispatcher(
      this.#agentFor({
        ...(ca ? { ca: bytes(ca) } : {}),
        ...(cert ? { cert: bytes(cert) } : {}),
        ...(key ? { key: bytes(key) } : {}),
        ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
        ...(servername === undefined ? {} : { servername }),
      }),
    )
  }

  #agentFor(identity: Identity): Agent {
    if (this.#agent && this.#identity && same(this.#identity, identity)) return this.#agent
    if (this.#agent) this.#retire(this.#agent)
    this.#identity = identity
    this.#agent = createAgent(identity)
    return this.#agent
  }

  #retire(agent: Agent): void {
    this.#retired.add(agent)
    // Resolves when the last request on it has ended; rejects only when close() below was faster.
    void agent.close().then(
      () => this.#retired.delete(agent),
      () => this.#retired.delete(agent),
    )
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    const agents = [...this.#retired, ...(this.#agent ? [this.#agent] : [])]
    this.#agent = undefined
    await Promise.all(agents.map((agent) => agent.destroy()))
  }
}

function createAgent(tls: Tls): Agent {
  return new Agent({
    // Several HTTP/1.1 connections: a request past its deadline takes its own connection with it. On one shared HTTP/2
    // connection a dead path would hold every request, the lease's too, until the kernel gives up after minutes.
    allowH2: false,
    connect: { ...tls, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 },
    // The API server closes an idle connection after 90 s; the client must be the first.
    keepAliveTimeout: 60_000,
    // Deadlines are the client's own; a watch may be silent for longer than undici's default.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

function bytes(value: unknown): Buffer {
  // client-node reads files and decodes base64 data into Buffers; an exec plugin's certificates are PEM text.
  return Buffer.isBuffer(value) ? value : Buffer.from(String(value))
}

function same(a: Identity, b: Identity): boolean {
  return (
    sameBytes(a.ca, b.ca) &&
    sameBytes(a.cert, b.cert) &&
    sameBytes(a.key, b.key) &&
    a.rejectUnauthorized === b.rejectUnauthorized &&
    a.servername === b.servername
  )
}

function sameBytes(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b)
}
