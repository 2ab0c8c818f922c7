import { X509Certificate } from 'node:crypto'
import * as v from 'valibot'
import { readRegularFile } from '../../agent/shared/regular-file.ts'
import { parseCertificates } from '../config/read-trust.ts'
import { hasStatus } from '../kubernetes/api-error.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import type { Logger } from '../lib/log.ts'
import { aborted, type Basics, every, follow, type Task } from '../lib/tasks.ts'

/** Where the CAs come from that sign the client certificates that the secure port believes. */
export type ClientCASource =
  /** PEM, read again when it changes. */
  | { readonly kind: 'file'; readonly path: string }
  /** The ConfigMap in which the API server says which ones it believes itself. */
  | { readonly kind: 'cluster' }
  | { readonly kind: 'none' }

interface Options extends Basics {
  /** Whose account may read the ConfigMap. */
  readonly client: KubeClient
}

const MAX_BYTES = 256 * 1024
/** Milliseconds between two looks. */
const INTERVAL = 60_000
const TIMEOUT = 5_000
const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
const KEY = 'client-ca-file'
const Found = v.object({ data: v.nullish(v.record(v.string(), v.string()), {}) })

/**
 * Reads the file, which must be there; the cluster is asked once the watch runs, because it may be away.
 *
 * @throws Error that names the file and the next step
 */
export function loadClientCA(
  source: ClientCASource,
  options: Options,
): {
  /** PEM; empty while it is not known, undefined where client certificates are not wanted. */
  readonly certificates: readonly string[] | undefined
  /** Looks for changes, and reports each, until the signal aborts. */
  watch(onChange: (certificates: readonly string[]) => void): Task
} {
  switch (source.kind) {
    case 'none':
      return { certificates: undefined, watch: () => aborted }
    case 'file': {
      const look = async () => readCAFile(source.path)
      const certificates = readCAFile(source.path)
      warnWithoutRoot(certificates, options.logger)
      return { certificates, watch: (onChange) => watch(look, certificates, onChange, options) }
    }
    case 'cluster': {
      const look = (signal: AbortSignal) => readConfigMap(options.client, signal)
      return { certificates: [], watch: (onChange) => watch(look, [], onChange, options) }
    }
  }
}

/** Looks at once, and every minute. */
function watch(
  look: (signal: AbortSignal) => Promise<readonly string[]>,
  first: readonly string[],
  onChange: (certificates: readonly string[]) => void,
  { clock, random, logger }: Options,
): Task {
  const again = follow(first, {
    look: (_, signal) => look(signal),
    same: (a, b) => a.join() === b.join(),
    onChange(found) {
      onChange(found)
      logger.info({ certificates: found.length }, 'client CA of the secure port loaded')
      warnWithoutRoot(found, logger)
      return found
    },
    onFailing: (cause) =>
      logger.warn(
        { cause },
        'cannot read the client CA of the secure port again; the previous one stays in use',
      ),
  })
  return async (signal) => {
    await again(signal)
    await every(INTERVAL, again, clock, random)(signal)
  }
}

/**
 * Go believes an intermediate CA without its root in the bundle. OpenSSL looks for the root, and a server of Node.js drops
 * `allowPartialTrustChain`, which would change that.
 */
function warnWithoutRoot(bundle: readonly string[], logger: Logger): void {
  const all = bundle.map((pem) => new X509Certificate(pem))
  for (const [index, one] of all.entries()) {
    // One that another CA has signed across counts by its own self-signed twin.
    const roots = all
      .filter(({ subject }) => subject === one.subject)
      .filter((twin) => twin.checkIssued(twin))
    if (roots.length > 0 || all.some((other) => one.checkIssued(other))) continue
    const cause = `certificate ${index + 1} of ${all.length} is not self-signed, and who signed it is not there: client certificates of it are refused; add its root to that bundle, or give both by --client-ca-file`
    logger.warn({ cause }, 'the client CA of the secure port lacks its root certificate')
  }
}

function readCAFile(path: string): readonly string[] {
  let text: string
  try {
    text = readRegularFile(path, MAX_BYTES).toString('utf8')
  } catch (cause) {
    const message = `--client-ca-file ${path}: cannot be read: check that it is there and that this user may read it`
    throw new Error(message, { cause })
  }
  const found = parseCertificates(text)
  if (!found.ok) throw new Error(`--client-ca-file ${path} ${found.message}`)
  return found.value
}

async function readConfigMap(client: KubeClient, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const answer = await client.request({ method: 'GET', path: CONFIG_MAP, signal, timeout: TIMEOUT })
    const text = v.parse(Found, answer).data?.[KEY]
    // An API server that believes no client certificate writes none there.
    if (text === undefined) return []
    const found = parseCertificates(text)
    if (!found.ok) throw new Error(`${KEY} in ${CONFIG_MAP} ${found.message}`)
    return found.value
  } catch (error) {
    if (hasStatus(error, 403))
      throw new Error(
        'this account is not allowed to read kube-system/extension-apiserver-authentication: bind it to the Role extension-apiserver-authentication-reader there, as manifests/components/secure-port does, or start with --authentication-skip-lookup, if no client certificate is to be believed',
        { cause: error },
      )
    throw error
  }
}
