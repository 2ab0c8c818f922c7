import { join } from 'node:path'
import t from 'tap'
import * as v from 'valibot'
import { systemClock } from '../../agent/shared/clock.ts'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { serviceAccountToken, writeTokenKubeconfig } from '../../test/world/service-account.ts'
import { createKubeClient, type KubeClient } from './client.ts'
import { heartbeatOf } from './lease-holder.ts'

const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const signal = new AbortController().signal

t.test('with the credential of the controller, on a real API server', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  const token = await serviceAccountToken(cluster, 'rollcall-controller')
  const kubeconfig = await writeTokenKubeconfig(join(cluster.dir, 'controller'), cluster, token)
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path: kubeconfig },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  const lease = (renewTime: string, metadata: object = {}) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'n1', ...metadata },
    spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime },
  })

  const none = await heartbeatOf(client, 'n1', signal)
  t.equal(await heartbeatOf(client, 'n1', signal), none, 'no Lease, no heartbeat')
  const made = await cluster.request('POST', path, lease('2026-03-01T10:00:00.000000Z'))
  t.equal(made.status, 201)
  const first = await heartbeatOf(client, 'n1', signal)
  t.not(first, none)
  t.equal(await heartbeatOf(client, 'n1', signal), first, 'silent')
  const { resourceVersion } = v.parse(
    v.object({ metadata: v.object({ resourceVersion: v.string() }) }),
    made.body,
  ).metadata
  const renewed = await cluster.request(
    'PUT',
    `${path}/n1`,
    lease('2026-03-01T10:00:10.000000Z', { resourceVersion }),
  )
  t.equal(renewed.status, 200)
  t.not(await heartbeatOf(client, 'n1', signal), first, 'alive')
  t.equal(await heartbeatOf(client, 'n2', signal), none, 'that was another one')
})

t.test('what is no Lease is no heartbeat either', async (t) => {
  const answering = (answer: unknown): KubeClient => ({
    request: () => Promise.resolve(answer),
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  })
  for (const answer of [null, {}, [], { metadata: {} }, { metadata: { uid: 'u' }, spec: { renewTime: 5 } }]) {
    await t.rejects(heartbeatOf(answering(answer), 'n1', signal), /not a Lease/, JSON.stringify(answer))
  }
})
