import { Counter, type Registry } from 'prom-client'
import { ApiError } from '../kubernetes/api-error.ts'
import type { KubeClient, KubeRequest } from '../kubernetes/client.ts'

export interface ApiMetrics {
  /** The same client, its requests counted. */
  measured(client: KubeClient): KubeClient
}

export function addApiMetrics(registry: Registry): ApiMetrics {
  const requests = new Counter({
    name: 'rollcall_api_requests_total',
    help: 'Requests to the API server by method (WATCH for the start of a watch), resource and code: ok, an HTTP status, or none where no answer came',
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
      const code = error instanceof ApiError ? String(error.status) : 'none'
      if (!request.signal.aborted) requests.inc({ method, resource, code })
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

/** `nodes` of `/api/v1/nodes/a/status`, `leases` of `/apis/coordination.k8s.io/v1/namespaces/n/leases/l`. */
function resourceOf(path: string): string {
  const match = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)/.exec(path)
  return match?.[1] ?? 'other'
}
