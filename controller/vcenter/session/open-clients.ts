/** The clients of one vCenter: SOAP with its session, and REST, over one connection. */
import type { VCenterConfig } from '../../config/config.ts'
import type { Basics } from '../../lib/tasks.ts'
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
 * which vCenter's list tells its sessions from all others.
 */
export function openClients(
  options: Basics &
    Pick<ConnectionOptions, 'userAgent' | 'onCertificate'> & {
      readonly config: VCenterConfig
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
  const { config, logins, loginSignal, metrics, timings, clock, random, logger } = options
  const { openConnection = openHTTPSConnection } = options
  const { onCertificate = () => undefined, onSlowLogin = () => undefined } = options
  const userAgent = `${options.userAgent} (${Math.floor(random() * 2 ** 32).toString(16)})`
  const connection = openConnection({ ...config, userAgent, clock, onCertificate })
  const soap = createSoapClient({ connection, clock, random, metrics })
  const { trust } = config
  const deadline = timings.loginDeadline
  const requestTicket = createTicketRequests({ trust, userAgent, deadline, clock, openConnection })
  const forLogin = { config, timings, clock, logins, loginSignal }
  const session = createSession({ ...forLogin, soap, logger, userAgent, requestTicket, onSlowLogin })
  const ofSoap = { soapSession: soap.sessionID, soapAlive: session.keepAlive }
  const rest = createRESTClient({ ...forLogin, connection, metrics, ...ofSoap })
  return { connection, soap, session, rest }
}
