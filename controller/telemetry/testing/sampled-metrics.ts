import { node, report } from '../../../test/fixtures/facts.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { createMetrics } from '../metrics.ts'

/** The text of metrics of which each has a sample, so that all labels are seen. */
export async function sampledMetrics(): Promise<string> {
  const clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }
  const metrics = createMetrics({ version: '1.2.3', lease: 'rollcall', clock })
  const refusal = { condition: 'VMFound', reason: 'NoSerial' } as const
  const rest = { events: [], requeue: false }
  const lastTransitionTime = '2026-01-01T00:00:00Z'
  const status = {
    conditions: [
      { type: 'VMFound', status: 'False', reason: 'NoSerial', message: '', lastTransitionTime },
      { type: 'DeletionPending', status: 'Unknown', reason: 'NotConfirmed', message: '', lastTransitionTime },
    ],
  } as const
  metrics.decided(
    'a',
    { state: 'refused', refusal, status, copies: { vm: 'main/vm-1', copies: ['main/vm-2'] }, ...rest },
    node(),
  )
  metrics.reconciled(1, 'done')
  metrics.certificateJudged('CertificateApproved')
  metrics.workQueue.started(1)
  metrics.workQueue.ended(1)
  const vCenter = metrics.vCenter('main')
  vCenter.call('Login', 'ok', 1)
  vCenter.reconnect('Unreachable')
  vCenter.resynced(1, 1)
  vCenter.unwatched(1)
  metrics.vCentersUp(() => [
    {
      vCenter: 'main',
      connected: () => true,
      unsteady: () => ({ vCenter: 'main', reason: 'Unreachable', message: '' }),
      provableEverywhere: () => ({ state: 'proven' }),
      certificateExpiry: () => 1,
    },
  ])
  metrics.agentVersions(() => ['0.1.0'])
  metrics.credentials(() => new Map([['main', true]]))
  metrics.configTaken(1)
  metrics.lifecycle(() => [{ vCenter: 'main', missing: 1, brakeEngaged: true }])
  const inner: KubeClient = {
    request: () => Promise.resolve(report()),
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  }
  const { signal } = new AbortController()
  await metrics.measured(inner).request({ method: 'GET', path: '/api/v1/nodes', signal })
  return metrics.text()
}
