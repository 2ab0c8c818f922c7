import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { ClientCASource } from '../../telemetry/client-ca.ts'
import type { CertificateSource } from '../../telemetry/serving-certificate.ts'
import { allOf, type GivenFlags, lastOf } from './parse-flags.ts'
import { FLAGS } from './table.ts'
import { type TLSLimits, tlsLimits } from './tls.ts'

/** What the CPI's arguments say of the HTTPS port. */
export interface SecureServing {
  readonly port: number
  readonly certificate: CertificateSource
  readonly tls: TLSLimits
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
