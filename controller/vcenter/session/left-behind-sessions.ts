/** vCenter's list of sessions, and those that it created but whose login was never answered: no client knows them. */

import { filterSpec, objectSpec, type PropertyReader, propertySpec } from '../collect/retrieve-properties.ts'
import type { Timings } from '../timings.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { element, type SoapClient } from '../wire/soap.ts'
import { childrenOf, textOf, type XMLElement } from '../wire/xml.ts'

/**
 * All sessions, each a `UserSession`. Throws a VCenterError: a SoapFault where the account lacks the privilege
 * Sessions.TerminateSession.
 */
export async function readSessions(
  reader: PropertyReader,
  sessionManager: ManagedObjectReference,
  signal: AbortSignal,
): Promise<readonly XMLElement[]> {
  const sessions: XMLElement[] = []
  await reader.read(
    [filterSpec(propertySpec('SessionManager', ['sessionList']), objectSpec(sessionManager))],
    ({ properties, missing }) => {
      const refused = missing.get('sessionList')
      if (refused !== undefined) throw refused
      sessions.push(...childrenOf(properties.get('sessionList'), 'UserSession'))
    },
    signal,
  )
  return sessions
}

/**
 * Ends the sessions of this client but for its own, the one with the key `own`; returns how many there were. The client is
 * known by its user agent, which no other may have. Throws what {@link readSessions} throws.
 */
export async function endSessionsOf(options: {
  readonly soap: SoapClient
  readonly reader: PropertyReader
  readonly sessionManager: ManagedObjectReference
  readonly userAgent: string
  readonly own: string
  readonly timings: Timings
  readonly signal: AbortSignal
}): Promise<number> {
  const { soap, reader, sessionManager: target, userAgent, own, timings, signal } = options
  const client = clientIn(userAgent)
  const lost = (await readSessions(reader, target, signal)).flatMap((session) => {
    const key = textOf(session, 'key')
    return key === undefined || key === own || clientIn(textOf(session, 'userAgent')) !== client ? [] : [key]
  })
  if (lost.length === 0) return 0
  const parameters = lost.map((key) => element('sessionId', key)).join('')
  const deadline = timings.readDeadline
  await soap.call({ operation: 'TerminateSession', target, parameters, deadline, signal })
  return lost.length
}

/** `rollcall-controller (1a2b3c4d)`: the version changes with an upgrade. */
function clientIn(userAgent = ''): string {
  return userAgent.replace(/\/\S*/, '')
}
