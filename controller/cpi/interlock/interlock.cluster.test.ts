/** On a real API server, by somebody whose only right is to create Leases. */
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { until } from '../../../test/fixtures/until.ts'
import { applyManifest } from '../../../test/servers/manifests.ts'
import { borrowCluster } from '../../../test/servers/pool/borrow.ts'
import { createKubeClient } from '../../kubernetes/client.ts'
import { microTime } from '../../kubernetes/lease.ts'
import { adminClient } from '../../kubernetes/testing/cluster-client.ts'
import { createLogLines } from '../../kubernetes/testing/log-lines.ts'
import { createInterlock } from './interlock.ts'

const RBAC = { apiVersion: 'rbac.authorization.k8s.io/v1' }

t.test('a Lease for 24 days has Nodes left alone for five minutes', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  const metadata = { name: 'thief', namespace: 'kube-system' }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'thief' }
  const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] }]
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }]
  const role = { ...RBAC, kind: 'Role', metadata, rules }
  const binding = { ...RBAC, kind: 'RoleBinding', metadata, roleRef, subjects }
  for (const object of [role, binding]) await applyManifest(cluster, object)
  const clock = createHandClock()
  const admin = adminClient(cluster)
  const path = await cluster.kubeconfig({ user: 'eve', groups: [] })
  const eve = createKubeClient({
    credentials: { kind: 'kubeconfig', path },
    clock: systemClock,
    userAgent: 'test',
  })
  const stop = new AbortController()
  const interlock = createInterlock({
    client: admin,
    own: {
      lease: { namespace: 'kube-system', name: 'rollcall-controller' },
      controllers: { node: true, lifecycle: true },
    },
    clock,
    random: () => 1,
    logger: createLogLines().logger,
    onChange: () => undefined,
  })
  const ended = interlock.run(stop.signal)
  t.teardown(async () => {
    stop.abort()
    await ended
    await Promise.all([admin.close(), eve.close()])
  })
  const becomes = (state: string) =>
    until(`it is ${state}`, async () => {
      await clock.turn(5_000)
      return interlock.state().state === state
    })
  await becomes('open')
  const at = clock.monotonic()
  await until('the right counts', () =>
    eve
      .request({
        method: 'POST',
        signal: stop.signal,
        path: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
        body: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'cloud-controller-manager', namespace: 'kube-system' },
          spec: {
            holderIdentity: 'nobody',
            leaseDurationSeconds: 2_147_483,
            renewTime: microTime(clock.now()),
          },
        },
      })
      .then(
        () => true,
        () => false,
      ),
  )
  await becomes('held')
  await becomes('open')
  const minutes = (clock.monotonic() - at) / 60_000
  t.ok(minutes >= 5, `${minutes} minutes`)
})
