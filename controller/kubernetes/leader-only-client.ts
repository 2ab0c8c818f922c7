import type { KubeClient } from './client.ts'
import type { Term } from './term.ts'

/**
 * A client for the leader that sends no write once another replica may lead. A process that was frozen would otherwise act
 * on data that waited for it before its timers tell it that its term is over.
 */
export function createLeaderOnlyClient(client: KubeClient, term: Pick<Term, 'holds'>): KubeClient {
  return {
    async request(request) {
      if (request.method !== 'GET' && !term.holds())
        throw new Error(
          `${request.method} ${request.path} was not sent: another replica may hold the Lease by now`,
        )
      return client.request(request)
    },
    stream: client.stream,
    close: client.close,
  }
}
