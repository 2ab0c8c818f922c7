/** Sessions that nobody has: vCenter made them, but its answer to the login was lost. */

import { objectSpec, propertySpec, readObject } from '../collect/retrieve-properties.ts'
import type { Timings } from '../timings.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { element, type SoapClient } from '../wire/soap.ts'
import { child, childrenOf, textOf } from '../wire/xml.ts'

/**
 * Ends the sessions of this client but for its own, the one with the key `own`; returns how many there were. The client is
 * known by its user agent, which no other may have. Throws a VCenterError: a SoapFault where the account lacks the privilege
 * Sessions.TerminateSession, without which vCenter shows no list of sessions either.
 */
export async function endSessionsOf(options: {
  readonly soap: SoapClient
  readonly propertyCollector: ManagedObjectReference
  readonly sessionManager: ManagedObjectReference
  readonly userAgent: string
  readonly own: string
  readonly timings: Timings
  readonly signal: AbortSignal
}): Promise<number> {
  const { soap, propertyCollector, sessionManager, userAgent, own, timings, signal } = options
  const deadline = timings.readDeadline
  const parameters = `<specSet>${propertySpec(sessionManager.type, ['sessionList'])}${objectSpec(sessionManager)}</specSet><options/>`
  const operation = 'RetrievePropertiesEx'
  const response = await soap.call({ operation, target: propertyCollector, parameters, deadline, signal })
  const object = child(child(response, 'returnval'), 'objects')
  if (object === undefined) return 0
  const { properties, missing } = readObject(object)
  const refused = missing.get('sessionList')
  if (refused !== undefined) throw refused
  const lost = childrenOf(properties.get('sessionList'), 'UserSession').flatMap((session) => {
    const key = textOf(session, 'key')
    return key === undefined || key === own || textOf(session, 'userAgent') !== userAgent ? [] : [key]
  })
  if (lost.length === 0) return 0
  const keys = lost.map((key) => element('sessionId', key)).join('')
  await soap.call({
    operation: 'TerminateSession',
    target: sessionManager,
    parameters: keys,
    deadline,
    signal,
  })
  return lost.length
}
