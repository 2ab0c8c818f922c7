import * as v from 'valibot'
import { createInformer } from '../../kubernetes/informer.ts'
import { runTogether } from '../../lib/tasks.ts'
import { createWorkQueue, type ReconcileResult } from '../../lib/work-queue.ts'
import type { Loop, LoopPorts, RunningLoop } from '../table.ts'

/** Simpler than the real ones, whose addresses are in a certificate request. */
const Request = v.object({
  metadata: v.object({ name: v.string(), resourceVersion: v.string() }),
  spec: v.object({ username: v.string(), addresses: v.array(v.string()) }),
  status: v.optional(v.object({ conditions: v.array(v.unknown()) })),
})

export const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const PREFIX = 'system:node:'

/** A second loop, in its shortest form: approves the certificate of a kubelet for the addresses that its Node got here. */
export const approvalLoop: Loop = { controllers: {}, labels: () => [], start: startApprovalLoop }

function startApprovalLoop(ports: LoopPorts): RunningLoop | undefined {
  const { client, reports, clock, random, logger } = ports
  // Where another provider initializes Nodes, this one knows no addresses.
  if (!ports.config.initialization.on) return undefined
  const queue = createWorkQueue({
    onError: (request, error) => logger.warn({ request, err: error }, 'approving failed'),
    concurrency: 1,
    clock,
    random,
  })
  const requests = createInformer({
    client,
    path: REQUESTS,
    parse(object) {
      const { metadata, spec, status } = v.parse(Request, object)
      return { ...metadata, ...spec, node: spec.username.slice(PREFIX.length), isDone: status !== undefined }
    },
    onChange: queue.add,
    clock,
    random,
    logger,
  })

  async function approve(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const request = requests.get(name)
    const decided = request && reports.get(request.node)?.status.addresses?.map(({ address }) => address)
    if (request?.isDone !== false || !request.addresses.every((one) => decided?.includes(one))) return 'done'
    const { resourceVersion } = request
    const body = {
      metadata: { resourceVersion },
      status: { conditions: [{ type: 'Approved', status: 'True' }] },
    }
    const path = `${REQUESTS}/${name}/approval`
    await client.request({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body,
      signal,
    })
    return 'done'
  }

  return {
    add(node) {
      for (const request of requests.values()) if (request.node === node) queue.add(request.name)
    },
    isIdle: queue.isIdle,
    problems: () => (requests.synced ? [] : ['certificate requests are not listed yet']),
    remarks: () => [],
    run: (signal) => runTogether([requests.run, (signal) => queue.run(approve, signal)], signal),
  }
}
