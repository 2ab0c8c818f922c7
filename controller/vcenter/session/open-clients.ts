/**
 * The clients of one vCenter: SOAP with its session, and REST, over one connection; and a visit of what asks and leaves, whereas
 * a leader's inventory goes on.
 */

import { hash } from 'node:crypto'
import { attempt } from '../../../agent/shared/result.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { type Basics, outlive } from '../../lib/tasks.ts'
import { createPropertyReader } from '../collect/retrieve-properties.ts'
import { createCollectors } from '../collect/session-objects.ts'
import type { InventoryMetrics } from '../running-inventory.ts'
import type { Timings } from '../timings.ts'
import { type ConnectionOptions, openConnection as openHTTPSConnection } from '../wire/connection.ts'
import { createSoapClient } from '../wire/soap.ts'
import { createTicketRequests } from './clone-ticket.ts'
import type { LoginLimiter } from './login-limiter.ts'
import { createRESTClient } from './rest.ts'
import { createSession } from './session.ts'

/**
 * Opens a connection, which the caller closes. Nothing is sent before a client is used. To the user agent it adds a number, by
 * which vCenter's list tells the client's sessions from all others.
 */
export function openClients(
  options: Basics &
    Pick<ConnectionOptions, 'userAgent' | 'onCertificate'> & {
      readonly config: VCenterConfig
      /** By default another one for each call. */
      readonly client?: string | undefined
      readonly logins: LoginLimiter
      /** For login calls: see {@link createSession}. */
      readonly loginSignal: AbortSignal
      readonly onSlowLogin?: () => void
      readonly metrics: InventoryMetrics
      readonly timings: Timings
      /** By default over HTTPS. */
      readonly openConnection?: typeof openHTTPSConnection
    },
) {
  const { config, client, logins, loginSignal, metrics, timings, clock, random, logger } = options
  const { openConnection = openHTTPSConnection } = options
  const { onCertificate = () => undefined, onSlowLogin = () => undefined } = options
  const number =
    client === undefined
      ? Math.floor(random() * 2 ** 32).toString(16)
      : hash('sha256', `${client}/${config.name}`, 'hex').slice(0, 8)
  const userAgent = `${options.userAgent} (${number})`
  const connection = openConnection({ ...config, userAgent, clock, onCertificate })
  const soap = createSoapClient({ connection, clock, random, metrics })
  const { trust } = config
  const deadline = timings.loginDeadline
  const requestTicket = createTicketRequests({ trust, userAgent, deadline, clock, openConnection })
  const forLogin = { config, timings, clock, logins, loginSignal }
  const hasPredecessors = client !== undefined
  const ofLogin = { requestTicket, onSlowLogin, userAgent, hasPredecessors }
  const session = createSession({ ...forLogin, soap, logger, ...ofLogin })
  const ofSoap = { soapSession: soap.sessionID, soapAlive: session.keepAlive }
  const rest = createRESTClient({ ...forLogin, connection, metrics, ...ofSoap })
  return { connection, soap, session, rest }
}

/**
 * Logs in; the caller leaves, with what is still under way at the signal given some time. Throws a VCenterError.
 *
 * Where the answer to the login is lost, it logs in once more, and ends the session that the first login may have left.
 */
export async function visitVCenter(
  options: Omit<Parameters<typeof openClients>[0], 'loginSignal'>,
  signal: AbortSignal,
) {
  const { timings, clock } = options
  const last = outlive(timings.logout, clock, signal)
  const { connection, soap, session, rest } = openClients({ ...options, loginSignal: last.signal })

  async function close(): Promise<void> {
    await Promise.allSettled([session.logout(last.signal), rest.logout(last.signal)])
    await Promise.all([last.end(), connection.close()])
  }

  /** Why there is a second login: what became of the first. */
  let lost: unknown
  async function logIn() {
    const first = await attempt(() => session.ensure(signal))
    if (first.ok) return first.value
    if (!session.mayHaveLost()) throw first.error
    lost = first.error
    return await session.ensure(signal)
  }

  const entered = await attempt(logIn)
  if (!entered.ok) {
    await close()
    throw entered.error
  }
  const content = entered.value
  const collectors = createCollectors({ soap, propertyCollector: content.propertyCollector, timings })
  const reader = createPropertyReader({ soap, collectors, alive: session.keepAlive, timings, clock })
  return {
    soap,
    rest,
    content,
    login: session.lastLogin(),
    reader,
    lost,
    async leave(): Promise<void> {
      // As late as possible: vCenter may have worked on the login until now.
      await attempt(() => session.endLost(reader, last.signal))
      await attempt(() => collectors.destroy(last.signal))
      await close()
    },
  }
}
