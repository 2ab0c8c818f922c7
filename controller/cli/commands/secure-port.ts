import type { Clock } from '../../../agent/shared/clock.ts'
import type { SecureServing } from '../../cpi/arguments/secure-serving.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import { createDelegatedAccess } from '../../kubernetes/delegated-access.ts'
import type { Logger } from '../../lib/log.ts'
import { runTogether, type Task } from '../../lib/tasks.ts'
import { loadClientCA } from '../../telemetry/client-ca.ts'
import {
  createTelemetryServer,
  type ServingTLS,
  type TelemetryServerOptions,
} from '../../telemetry/server.ts'
import { loadServingCertificate } from '../../telemetry/serving-certificate.ts'

export interface SecurePortOptions extends Pick<TelemetryServerOptions, 'metrics' | 'healthy' | 'ready'> {
  readonly serving: SecureServing & { readonly host: string }
  /** The credential that does all else. */
  readonly client: KubeClient
  readonly userAgent: string
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

export interface SecurePort {
  /** Keeps the certificate and the CA of client certificates current. */
  readonly run: Task
  close(): Promise<void>
}

/**
 * Opens the HTTPS port: what the plain one serves, for those whom the API server lets see it.
 *
 * @throws where the certificate or the file of the client CA cannot be read, a credential is no credential, or the port cannot be opened
 */
export async function openSecurePort(options: SecurePortOptions): Promise<SecurePort> {
  const { serving, client, userAgent, clock, random, logger } = options
  const { host, port, alwaysAllow, ttl } = serving
  const certificate = await loadServingCertificate(serving.certificate, { clock, random, logger })
  const own: KubeClient[] = []
  const clientOf = (path: string | undefined): KubeClient => {
    if (path === undefined) return client
    const other = createKubeClient({ credentials: { kind: 'kubeconfig', path }, clock, userAgent })
    own.push(other)
    return other
  }
  const authentication = clientOf(serving.authenticationKubeconfig)
  const clientCA = loadClientCA(serving.clientCA, { client: authentication, clock, random, logger })
  const access = createDelegatedAccess({
    authentication,
    authorization: clientOf(serving.authorizationKubeconfig),
    alwaysAllow,
    ttl,
    clock,
    logger,
  })
  let tls: ServingTLS = { ...serving.tls, ...certificate.pair, clientCAs: clientCA.certificates }
  const server = createTelemetryServer({ ...options, host, port, secure: { tls, judge: access.judge } })
  await server.listen()
  const change = (changed: Partial<ServingTLS>): void => {
    tls = { ...tls, ...changed }
    server.setTLS(tls)
  }
  return {
    run: (signal) =>
      runTogether([certificate.watch(change), clientCA.watch((clientCAs) => change({ clientCAs }))], signal),
    async close() {
      await server.close()
      await Promise.all(own.map((each) => each.close()))
    },
  }
}
