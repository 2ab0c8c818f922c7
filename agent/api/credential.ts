import { existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { readSmallFile } from '../facts/files.ts'
import { parseYAML } from '../shared/yaml.ts'

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
function readCredentialFile(what: string, path: string): string {
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

/**
 * The credential of a kubeconfig's current context. The file and all files that it names are read for each connection, so
 * that a rotated certificate or token is used at once; the text is parsed again only when it has changed. Of several files
 * the first that is there is used: a VM image is made before it is known which kubelet will run.
 *
 * Supported: `server`, `certificate-authority(-data)`, `tls-server-name`, `client-certificate(-data)`, `client-key(-data)`,
 * `token`, `tokenFile`. Refused: what would run a program (`exec`, `auth-provider`), what would not check the server
 * (`insecure-skip-tls-verify`), what would go another way (`proxy-url`), and `http`.
 */
export function kubeconfigCredential(paths: readonly string[]): CredentialSource {
  let parsed: { readonly path: string; readonly text: string; readonly parts: Parts } | undefined
  return async () => {
    const path = paths.length === 1 ? paths[0] : paths.find((each) => existsSync(each))
    if (path === undefined)
      throw new CredentialError(
        `no kubelet has joined a cluster yet, none of these is there: ${paths.join(', ')}`,
      )
    const text = readCredentialFile('kubeconfig', path)
    if (parsed?.path !== path || parsed.text !== text) parsed = { path, text, parts: await parse(path, text) }
    return resolveParts(path, parsed.parts)
  }
}

interface Parts {
  readonly server: URL
  readonly cluster: Fields
  readonly user: Fields
}

type Fields = Readonly<Record<string, unknown>>

async function parse(path: string, text: string): Promise<Parts> {
  let config: unknown
  try {
    config = await parseYAML(text)
  } catch {
    // The parser's message quotes the text, which contains keys and tokens.
    throw new CredentialError(`kubeconfig ${path} is not YAML`)
  }
  const name = string(fields(config), 'current-context')
  if (!name) throw new CredentialError(`kubeconfig ${path} has no current-context: set one`)
  const context = fields(entry(config, 'contexts', name)?.context)
  const cluster = fields(entry(config, 'clusters', string(context, 'cluster'))?.cluster)
  const user = fields(entry(config, 'users', string(context, 'user'))?.user)
  const server = string(cluster, 'server')
  if (server === undefined || !URL.canParse(server)) {
    throw new CredentialError(`kubeconfig ${path}: the cluster of its current context has no server address`)
  }
  refuse(path, new URL(server), cluster, user)
  return { server: new URL(server), cluster, user }
}

function refuse(path: string, server: URL, cluster: Fields, user: Fields): void {
  const why = (problem: string) => new CredentialError(`kubeconfig ${path}: ${problem}`)
  for (const key of ['exec', 'auth-provider']) {
    if (user[key] !== undefined) {
      throw why(
        `${key} is not supported: use a client certificate or a token file, as in the kubelet's own kubeconfig`,
      )
    }
  }
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw why('insecure-skip-tls-verify is not supported: name the CA in certificate-authority')
  }
  if (cluster['proxy-url']) throw why('proxy-url is not supported: name the API server directly')
  if (server.protocol !== 'https:') throw why('server is not an https address')
}

function resolveParts(path: string, { server, cluster, user }: Parts): Credential {
  const cert = material(path, user, 'client-certificate')
  const key = material(path, user, 'client-key')
  const tokenFile = string(user, 'tokenFile')
  const token = tokenFile
    ? readCredentialFile('token file', beside(path, tokenFile)).trim()
    : string(user, 'token')
  if ((cert === undefined) !== (key === undefined)) {
    throw new CredentialError(`kubeconfig ${path}: the user has one of client certificate and key, not both`)
  }
  if (cert === undefined && !token) {
    throw new CredentialError(`kubeconfig ${path}: the user has neither a client certificate nor a token`)
  }
  return {
    server,
    ca: material(path, cluster, 'certificate-authority'),
    serverName: string(cluster, 'tls-server-name'),
    clientCertificate: cert === undefined || key === undefined ? undefined : { cert, key },
    token: token || undefined,
  }
}

/** Data in the kubeconfig itself takes precedence over the file that it names, as with kubectl. */
function material(path: string, from: Fields, key: string): string | undefined {
  const data = string(from, `${key}-data`)
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  const file = string(from, key)
  return file ? readCredentialFile(key, beside(path, file)) : undefined
}

function beside(path: string, file: string): string {
  return resolve(dirname(path), file)
}

function entry(config: unknown, list: string, name: string | undefined): Fields | undefined {
  const items = fields(config)[list]
  if (!Array.isArray(items)) return undefined
  return items.map(fields).find((item) => item.name === name)
}

function fields(value: unknown): Fields {
  return value !== null && typeof value === 'object' ? { ...value } : {}
}

function string(from: Fields, key: string): string | undefined {
  const value = from[key]
  return typeof value === 'string' ? value : undefined
}
