import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { KubeConfig } from '@kubernetes/client-node'
import { Agent } from 'undici'
import type { Clock } from '../../agent/shared/clock.ts'
import { CONNECTING } from '../../agent/shared/connecting.ts'
import { SERVICE_ACCOUNT_FOLDER } from '../../agent/shared/program.ts'
import { failed, ok, type Result } from '../../agent/shared/result.ts'
import { createExecPlugin } from './exec-plugin.ts'
import { readKubeconfig } from './kubeconfig.ts'

/** Where the credentials for the API server are. */
export type CredentialLocation =
  /** Files named in the kubeconfig are read again as {@link FRESH} says, the kubeconfig itself only once. */
  | {
      readonly kind: 'kubeconfig'
      readonly path: string
      /** By default the current one. */
      readonly context?: string
    }
  /** A pod's service account; host and port as in `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`. */
  | { readonly kind: 'in-cluster'; readonly host: string; readonly port: string; readonly folder: string }

/** What the TLS options of a connection are made from; a change of any needs new connections. */
interface Identity {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
  readonly rejectUnauthorized?: boolean
  readonly servername?: string
}

/** Milliseconds after which the files of a credential are read again: a thousand requests may start within a second. */
const FRESH = 1_000

/** Holds for one request: tokens are replaced, and so are certificates. */
export interface CurrentCredentials {
  readonly headers: Readonly<Record<string, string>>
  readonly agent: Agent
  /** To be called where the API server does not accept them. */
  readonly refuse: () => void
}

/**
 * client-node's credentials over persistent connections, and those of exec plugins.
 *
 * client-node opens a new TLS connection for every request. Here one agent serves them all. It is replaced when the
 * bytes of the CA or the client certificate change; requests under way on the old one are finished there.
 */
export class Credentials extends KubeConfig {
  #identity: Identity | undefined
  #agent: Agent | undefined
  #plugin: ReturnType<typeof createExecPlugin> | undefined
  /** What was last read; `at` is monotonic. */
  #latest: { readonly credentials: CurrentCredentials; readonly at: number } | undefined
  readonly #clock: Clock
  readonly #retired = new Set<Agent>()

  private constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  /** Reads the source; throws an Error that names the file when it cannot be used. */
  static load(source: CredentialLocation, clock: Clock): Credentials {
    const credentials = new Credentials(clock)
    if (source.kind === 'in-cluster') credentials.#loadServiceAccount(source)
    else {
      const { cluster, user, plugin } = readKubeconfig(source.path, source.context)
      credentials.loadFromClusterAndUser(cluster, user)
      if (plugin !== undefined) credentials.#plugin = createExecPlugin(plugin, clock)
    }
    return credentials
  }

  #loadServiceAccount({ host, port, folder }: CredentialLocation & { kind: 'in-cluster' }): void {
    const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
    this.loadFromClusterAndUser(
      { name: 'in-cluster', server, caFile: `${folder}/ca.crt`, skipTLSVerify: false },
      // client-node reads the file again when its copy is a minute old, as client-go does.
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

  /** What the next request is sent with. Throws where a file or plugin that the kubeconfig names gives no credential. */
  async current(): Promise<CurrentCredentials> {
    const at = this.#clock.monotonic()
    // A plugin's credential is renewed before it ends, and knows itself how long it may be used.
    if (this.#plugin !== undefined) return await this.#read()
    if (this.#latest === undefined || at - this.#latest.at >= FRESH)
      this.#latest = { credentials: await this.#read(), at }
    return this.#latest.credentials
  }

  async #read(): Promise<CurrentCredentials> {
    const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] & { servername?: string } = {}
    try {
      await this.applyToHTTPSOptions(options)
    } catch (cause) {
      // The message quotes the token.
      if (cause instanceof SyntaxError) {
        throw new Error('the id-token of the kubeconfig is not a JSON Web Token: log in again')
      }
      throw cause
    }
    const issued = await this.#plugin?.credential()
    const refuse = () => {
      if (issued !== undefined) this.#plugin?.refuse(issued)
    }
    const bearer = issued?.token === undefined ? {} : { Authorization: `Bearer ${issued.token}` }
    // A token file often ends with a newline, which a header may not contain.
    const headers = Object.fromEntries(
      Object.entries({ ...options.headers, ...bearer }).map(([name, value]) => [name, String(value).trim()]),
    )
    const { auth, ca, rejectUnauthorized, servername } = options
    const { cert, key } = issued?.certificate ?? options
    const agent = this.#agentFor({
      ...(ca ? { ca: bytes(ca) } : {}),
      ...(cert ? { cert: bytes(cert) } : {}),
      ...(key ? { key: bytes(key) } : {}),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
      ...(servername === undefined ? {} : { servername }),
    })
    if (typeof auth !== 'string') return { headers, agent, refuse }
    const basic = `Basic ${Buffer.from(auth).toString('base64')}`
    return { headers: { ...headers, Authorization: basic }, agent, refuse }
  }

  #agentFor(identity: Identity): Agent {
    if (this.#agent && this.#identity && isDeepStrictEqual(this.#identity, identity)) return this.#agent
    if (this.#agent) this.#retire(this.#agent)
    this.#identity = identity
    this.#agent = createAgent(identity)
    return this.#agent
  }

  #retire(agent: Agent): void {
    this.#retired.add(agent)
    // Resolves when its last request has ended; rejects only when close() below came first.
    void agent.close().then(
      () => this.#retired.delete(agent),
      () => this.#retired.delete(agent),
    )
  }

  /** Ends every connection at once, and the plugin that runs. */
  async close(): Promise<void> {
    this.#plugin?.close()
    const agents = [...this.#retired, ...(this.#agent ? [this.#agent] : [])]
    this.#agent = undefined
    await Promise.all(agents.map((agent) => agent.destroy()))
  }
}

function createAgent(tls: Identity): Agent {
  return new Agent({
    // Several HTTP/1.1 connections: a request past its deadline takes its own connection with it. On one shared HTTP/2
    // connection a dead path would hold every request, the lease's too, until the kernel gives up after minutes.
    allowH2: false,
    connect: { ...tls, ...CONNECTING, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 },
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

/** What the command line says about the credential for the API server. */
export interface CredentialFlags {
  readonly kubeconfig: string | undefined
  /** Of the kubeconfig; without it the current one. */
  readonly context?: string | undefined
}

/** The namespace of a Pod's service account; undefined outside a Pod, and where the kubelet does not say. */
export function podNamespace(location: CredentialLocation): string | undefined {
  if (location.kind !== 'in-cluster') return undefined
  const file = join(location.folder, 'namespace')
  return existsSync(file) ? readFileSync(file, 'utf8').trim() || undefined : undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** The credential of a controller that runs: what it is given, or what the kubelet gives every container. */
export function controllerCredentials(
  { kubeconfig }: CredentialFlags,
  env: Environment,
): Result<CredentialLocation> {
  const location = kubeconfig === undefined ? ofPod(env) : ({ kind: 'kubeconfig', path: kubeconfig } as const)
  if (location !== undefined) return ok(location)
  return failed('--kubeconfig is missing, and this is not a Pod with a service account')
}

/**
 * The credential of the person who runs a command, found as kubectl finds it: `--kubeconfig`, `$KUBECONFIG`, that of the Pod,
 * `~/.kube/config`.
 */
export function operatorCredentials(
  { kubeconfig, context }: CredentialFlags,
  env: Environment,
): Result<CredentialLocation> {
  const path = kubeconfig ?? (env.KUBECONFIG || undefined)
  const pod = path === undefined && context === undefined ? ofPod(env) : undefined
  if (pod !== undefined) return ok(pod)
  if (kubeconfig === undefined && path?.includes(delimiter))
    return failed('KUBECONFIG names several files, which are not merged here: name one with --kubeconfig')
  if (path === undefined && !env.HOME)
    return failed('--kubeconfig is missing, and neither KUBECONFIG nor HOME is set, nor is this a Pod')
  return ok({
    kind: 'kubeconfig',
    path: path ?? join(env.HOME ?? '', '.kube/config'),
    ...(context === undefined ? {} : { context }),
  })
}

function ofPod(env: Environment): CredentialLocation | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (host === undefined || port === undefined) return undefined
  return { kind: 'in-cluster', host, port, folder: SERVICE_ACCOUNT_FOLDER }
}
