import type { Cluster } from '@kubernetes/client-node'
import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import { readRegularFile } from '../../agent/shared/regular-file.ts'
import { runTool, type ToolResult } from '../../agent/shared/run-process.ts'

/** client-go's since Kubernetes 1.24. */
export const EXEC_VERSIONS = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
] as const

/** A program that a kubeconfig names to get a credential from. */
export interface ExecPluginOptions {
  /** The kubeconfig's path, for messages. */
  readonly kubeconfig: string
  readonly apiVersion: (typeof EXEC_VERSIONS)[number]
  readonly command: string
  readonly args: readonly string[]
  /** In addition to the environment of this process. */
  readonly env: Readonly<Record<string, string>>
  /** What the plugin is told about the cluster; undefined where the kubeconfig does not provide it. */
  readonly cluster: ExecCluster | undefined
}

interface ExecCluster extends Pick<Cluster, 'server' | 'caData' | 'caFile' | 'tlsServerName'> {
  /** The cluster's own settings for the plugin, passed on as they are. */
  readonly config: unknown
}

interface ExecCredential {
  readonly token: string | undefined
  /** PEM. */
  readonly certificate: { readonly cert: string; readonly key: string } | undefined
}

/** Milliseconds that a plugin has: enough for a cloud's slow login, and for nothing that waits for a person. */
const TIME_LIMIT = 60_000
/** Bytes; a certificate with its chain has a few thousand. */
const MAX_OUTPUT = 256 * 1024
const MAX_CA_FILE = 1024 * 1024

const Text = v.nullish(v.string(), '')
const Output = v.object({
  apiVersion: v.string(),
  kind: v.literal('ExecCredential'),
  status: v.object({
    token: Text,
    clientCertificateData: Text,
    clientKeyData: Text,
    expirationTimestamp: v.nullish(v.pipe(v.string(), v.isoTimestamp())),
  }),
})

/**
 * Runs an exec plugin by client-go's rules, but for two: a run has a time limit, and what the plugin says on stderr is shown
 * nowhere. It is meant for a terminal, which a controller does not have, and some plugins print the requests that failed, with
 * their tokens. kubectl shows it to a person who looks.
 *
 * @param limit milliseconds of each run
 */
export function createExecPlugin(options: ExecPluginOptions, clock: Clock, limit = TIME_LIMIT) {
  const ending = new AbortController()
  let issued: ReturnType<typeof read> | undefined
  let running: Promise<ReturnType<typeof read>> | undefined

  async function run() {
    const { command, args, env } = options
    const result = await runTool(command, args, {
      // oxlint-disable-next-line no-restricted-properties -- handed on as it is, as kubectl does: a plugin looks for PATH, HOME and its own
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: execInfo(options) },
      timeout: limit,
      maxOutput: MAX_OUTPUT,
      signal: ending.signal,
    })
    const wrong = (what: string) =>
      new Error(`the credential plugin of the kubeconfig ${options.kubeconfig} ${what}`)
    return read(outputOf(result, options, limit, wrong), options, wrong)
  }

  return {
    /**
     * The credential that the plugin gave last. It is run again once that has expired or was refused, one run for all who wait.
     *
     * @throws Error that names the kubeconfig and the next step, and quotes nothing of what the plugin printed
     */
    async credential(): Promise<ExecCredential> {
      if (issued !== undefined && clock.now() <= issued.expires) return issued.credential
      running ??= run().finally(() => {
        running = undefined
      })
      issued = await running
      return issued.credential
    },
    /** To be called where the API server does not accept this credential. */
    refuse(credential: ExecCredential): void {
      if (issued?.credential === credential) issued = undefined
    },
    /** Ends the run under way. */
    close: () => ending.abort(),
  }
}

/** The ExecCredential that tells a plugin its task. It is never interactive: its stdin is closed. */
function execInfo({ apiVersion, cluster }: ExecPluginOptions): string {
  return JSON.stringify({
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(cluster === undefined ? {} : { cluster: clusterInfo(cluster) }) },
  })
}

function clusterInfo({ server, caData, caFile, tlsServerName, config }: ExecCluster): object {
  const ca = caFile ? readRegularFile(caFile, MAX_CA_FILE).toString('base64') : caData
  return {
    server,
    ...(tlsServerName && { 'tls-server-name': tlsServerName }),
    ...(ca && { 'certificate-authority-data': ca }),
    ...(config === undefined ? {} : { config }),
  }
}

function outputOf(
  result: ToolResult,
  { kubeconfig }: ExecPluginOptions,
  limit: number,
  wrong: (what: string) => Error,
): string {
  const look = `see what it says: kubectl --kubeconfig ${kubeconfig} get --raw /version`
  switch (result.kind) {
    case 'not-started':
      throw wrong(`cannot be started (${result.code}): install it, or correct users[].user.exec.command`)
    case 'late':
      throw wrong(`gave no credential within ${limit / 1_000} s; it must ask nobody anything: ${look}`)
    case 'too-long':
      throw wrong(`printed more than ${MAX_OUTPUT / 1024} KiB: ${look}`)
    case 'ended':
      if (result.code === 0) return result.stdout
      throw wrong(`failed (${result.signal ?? `exit code ${result.code}`}): ${look}`)
  }
}

function read(stdout: string, { apiVersion }: ExecPluginOptions, wrong: (what: string) => Error) {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), Output), stdout)
  if (!parsed.success || parsed.output.apiVersion !== apiVersion)
    throw wrong(
      `printed something that is not an ExecCredential of ${apiVersion}: correct users[].user.exec.apiVersion, or update the plugin`,
    )
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = parsed.output.status
  if (!cert !== !key) throw wrong('gave only one of certificate and key: correct its configuration')
  if (!token && !cert) throw wrong('gave neither a token nor a certificate: correct its configuration')
  return {
    credential: { token: token || undefined, certificate: cert ? { cert, key } : undefined },
    /** Milliseconds since the epoch; infinite where it does not expire. */
    expires: expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY,
  }
}
