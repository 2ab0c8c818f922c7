import { getCiphers } from 'node:tls'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { allOf, type GivenFlags, lastOf } from './parse-flags.ts'
import { FLAGS } from './table.ts'

/** As node:tls takes them; what is not given is its default. */
export interface TLSLimits {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  readonly ciphers?: string
  readonly ecdhCurve?: string
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
export function tlsLimits(flags: GivenFlags): Result<TLSLimits> {
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
