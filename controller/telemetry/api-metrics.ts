import { Counter, type Registry } from 'prom-client'
import { ApiError } from '../../agent/shared/api-error.ts'
import type { KubeClient, KubeRequest } from '../kubernetes/client.ts'

/** The API server's own statuses. A proxy may send any other, and each would become a time series for ever. */
const STATUSES: ReadonlySet<number> = new Set([
  200, 201, 400, 401, 403, 404, 408, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504,
])

export interface ApiMetrics {
  /** The same client, with its requests counted. */
  measured(client: KubeClient): KubeClient
}

export function addApiMetrics(registry: Registry): ApiMetrics {
  const requests = new Counter({
    name: 'rollcall_api_requests_total',
    help: 'Requests to the API server by method (WATCH for the start of a watch), resource and code: ok, an HTTP status, other for an unusual one, none without an answer',
    labelNames: ['method', 'resource', 'code'],
    registers: [registry],
  })

  async function count<T>(request: KubeRequest, answer: Promise<T>): Promise<T> {
    const method = request.query?.watch === undefined ? request.method : 'WATCH'
    const resource = resourceOf(request.path)
    try {
      const result = await answer
      requests.inc({ method, resource, code: 'ok' })
      return result
    } catch (error) {
      if (!request.signal.aborted) requests.inc({ method, resource, code: codeOf(error) })
      throw error
    }
  }

  return {
    measured: (client) => ({
      request: (request) => count(request, client.request(request)),
      stream: (request, silence) => count(request, client.stream(request, silence)),
      close: () => client.close(),
    }),
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof ApiError)) return 'none'
  return STATUSES.has(error.status) ? String(error.status) : 'other'
}

/** `nodes` of `/api/v1/nodes/a/status`, `leases` of `/apis/coordination.k8s.io/v1/namespaces/n/leases/l`. */
function resourceOf(path: string): string {
  const match = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)/.exec(path)
  return match?.[1] ?? 'other'
}
