/** One session with a vCenter, for what asks and leaves: a leader's inventory goes on instead. */
import { attempt } from '../../../agent/shared/result.ts'
import { outlive } from '../../lib/tasks.ts'
import { createPropertyReader } from '../collect/retrieve-properties.ts'
import { createCollectors } from '../collect/session-objects.ts'
import { openClients } from './open-clients.ts'

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
