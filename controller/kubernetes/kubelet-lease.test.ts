import { join } from 'node:path'
import t from 'tap'
import { serviceAccountToken, writeTokenKubeconfig } from '../../test/fixtures/service-account.ts'
import { startCluster } from '../../test/servers/cluster.ts'
import { applyManifests } from '../../test/servers/manifests.ts'
import { systemClock } from '../clock.ts'
import { createKubeClient, type KubeClient } from './client.ts'
import { heartbeatOf } from './kubelet-lease.ts'

const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const signal = new AbortController().signal

t.test('with the credential of the controller, on a real API server', async (t) => {
  const cluster = await startCluster()
  t.teardown(() => cluster.stop())
  await applyManifests(cluster)
  const token = await serviceAccountToken(cluster, 'rollcall-controller')
  const kubeconfig = await writeTokenKubeconfig(join(cluster.dir, 'controller'), cluster, token)
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path: kubeconfig },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  const renew = async (method: 'POST' | 'PUT', renewTime: string) => {
    const { status, body } = await cluster.request(method, method === 'POST' ? path : `${path}/n1`, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'n1' },
      spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime },
    })
    if (status !== 201 && status !== 200) throw new Error(`the Lease was not taken: ${JSON.stringify(body)}`)
  }

  const none = await heartbeatOf(client, 'n1', signal)
  t.equal(await heartbeatOf(client, 'n1', signal), none, 'no Lease, no heartbeat')
  await renew('POST', '2026-03-01T10:00:00.000000Z')
  const first = await heartbeatOf(client, 'n1', signal)
  t.not(first, none)
  t.equal(await heartbeatOf(client, 'n1', signal), first, 'silent')
  await renew('PUT', '2026-03-01T10:00:10.000000Z')
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
    await t.rejects(heartbeatOf(answering(answer), 'n1', signal), /no Lease/, JSON.stringify(answer))
  }
})
