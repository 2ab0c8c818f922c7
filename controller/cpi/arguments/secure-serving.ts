import { getCiphers } from 'node:tls'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { ClientCASource } from '../../telemetry/client-ca.ts'
import type { CertificateSource } from '../../telemetry/serving-certificate.ts'
import { allOf, type GivenFlags, lastOf } from './flags.ts'
import { FLAGS } from './table.ts'

/** What the CPI's arguments say of the HTTPS port. */
export interface SecureServing {
  readonly port: number
  readonly certificate: CertificateSource
  /** As node:tls takes them; what is not given is its default. */
  readonly tls: {
    readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
    readonly ciphers?: string
    readonly ecdhCurve?: string
  }
  readonly clientCA: ClientCASource
  /** Undefined for the controller's usual credential. */
  readonly authenticationKubeconfig: string | undefined
  readonly authorizationKubeconfig: string | undefined
  readonly alwaysAllow: readonly string[]
  /** Milliseconds. */
  readonly ttl: { readonly token: number; readonly allowed: number; readonly denied: number }
}

const TTL = 10_000

/** Undefined where `--secure-port` is 0: the other flags do not matter then. */
export function secureServing(flags: GivenFlags): Result<SecureServing | undefined> {
  const port = lastOf(flags, FLAGS['secure-port']) ?? Number(FLAGS['secure-port'].default)
  if (port === 0) return ok(undefined)
  if (port < 0 || port > 65535) return failed('--secure-port: expected a port, 1 to 65535, or 0 for none')
  const tls = tlsLimits(flags)
  if (!tls.ok) return tls
  const certificate = certificateOf(flags)
  if (!certificate.ok) return certificate
  const paths = allOf(flags, FLAGS['authorization-always-allow-paths'])
  return ok({
    port,
    certificate: certificate.value,
    tls: tls.value,
    clientCA: clientCAOf(flags),
    authenticationKubeconfig: lastOf(flags, FLAGS['authentication-kubeconfig']) || undefined,
    authorizationKubeconfig: lastOf(flags, FLAGS['authorization-kubeconfig']) || undefined,
    // As in the CPI, a slash at the beginning may be left out.
    alwaysAllow: (paths.length === 0 ? ALWAYS : paths.flat()).map((path) => path.replace(/^\/?/, '/')),
    ttl: {
      token: lastOf(flags, FLAGS['authentication-token-webhook-cache-ttl']) ?? TTL,
      allowed: lastOf(flags, FLAGS['authorization-webhook-cache-authorized-ttl']) ?? TTL,
      denied: lastOf(flags, FLAGS['authorization-webhook-cache-unauthorized-ttl']) ?? TTL,
    },
  })
}

/** So that kubelets can probe. */
const ALWAYS = ['/healthz', '/readyz', '/livez']

/** As in the CPI: a file replaces what the cluster says. */
function clientCAOf(flags: GivenFlags): ClientCASource {
  const path = lastOf(flags, FLAGS['client-ca-file']) || undefined
  if (path !== undefined) return { kind: 'file', path }
  return { kind: lastOf(flags, FLAGS['authentication-skip-lookup']) === true ? 'none' : 'cluster' }
}

function certificateOf(flags: GivenFlags): Result<CertificateSource> {
  const certFile = lastOf(flags, FLAGS['tls-cert-file']) || undefined
  const keyFile = lastOf(flags, FLAGS['tls-private-key-file']) || undefined
  const folder = lastOf(flags, FLAGS['cert-dir']) || undefined
  if (certFile !== undefined && keyFile !== undefined) return ok({ kind: 'files', certFile, keyFile })
  if (certFile !== undefined || keyFile !== undefined)
    return failed('--tls-cert-file and --tls-private-key-file belong together: give both or neither')
  return ok(folder === undefined ? { kind: 'memory' } : { kind: 'folder', folder })
}

const CIPHERS = 'tls-cipher-suites'
const CURVES = 'tls-curve-preferences'

/** TLS 1.3 has three, which are always on, as in Go. */
const OF_TLS_13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']

/** By their numbers in TLS, as Go's flag has them. */
const CURVE_NAMES: ReadonlyMap<string, string> = new Map([
  ['23', 'P-256'],
  ['24', 'P-384'],
  ['25', 'P-521'],
  ['29', 'X25519'],
  ['4588', 'X25519MLKEM768'],
])

/** Reads `--tls-min-version`, `--tls-cipher-suites` and `--tls-curve-preferences`, as node:tls understands them. */
function tlsLimits(flags: GivenFlags): Result<SecureServing['tls']> {
  const version = lastOf(flags, FLAGS['tls-min-version']) ?? ''
  if (version === 'VersionTLS10' || version === 'VersionTLS11')
    return failed('--tls-min-version: TLS before 1.2 is not supported: expected VersionTLS12 or VersionTLS13')
  if (!['', 'VersionTLS12', 'VersionTLS13'].includes(version))
    return failed('--tls-min-version: expected VersionTLS12 or VersionTLS13')
  const suites = allOf(flags, FLAGS[CIPHERS]).flat()
  const available = new Set(getCiphers())
  const older: string[] = []
  for (const suite of suites) {
    if (OF_TLS_13.includes(suite)) continue
    const name = opensslName(suite)
    if (name === undefined || !available.has(name.toLowerCase()))
      return failed(
        `--${CIPHERS}: one of them is not supported: expected names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, without RC4 and 3DES`,
      )
    older.push(name)
  }
  const curves = allOf(flags, FLAGS[CURVES]).flat()
  const named = curves.flatMap((curve) => CURVE_NAMES.get(curve) ?? [])
  if (named.length < curves.length)
    return failed(`--${CURVES}: expected numbers from ${[...CURVE_NAMES.keys()].join(', ')}`)
  return ok({
    minVersion: version === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    ...(suites.length === 0 ? {} : { ciphers: [...OF_TLS_13, ...older].join(':') }),
    ...(named.length === 0 ? {} : { ecdhCurve: named.join(':') }),
  })
}

/** `ECDHE-RSA-AES128-GCM-SHA256` of `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`; undefined for none of TLS 1.2. */
function opensslName(suite: string): string | undefined {
  const { exchange, cipher } = /^TLS_(?<exchange>[A-Z_]+)_WITH_(?<cipher>\w+)$/.exec(suite)?.groups ?? {}
  if (exchange === undefined || cipher === undefined) return undefined
  const how = cipher
    .replace(/^CHACHA20_POLY1305.*/, 'CHACHA20-POLY1305')
    .replace(/^AES_(128|256)_CBC/, 'AES$1')
    .replace(/^AES_(128|256)/, 'AES$1')
    .replaceAll('_', '-')
  return exchange === 'RSA' ? how : `${exchange.replaceAll('_', '-')}-${how}`
}
