import t from 'tap'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { kubeletIdentity, registerNode } from '../../test/world/kubelet.ts'
import { kubeletMaySet } from './kubelet-labels.ts'

const MAY = [
  'anything',
  'example.com/anything',
  'rollcall.dev/level',
  'xkubernetes.io/a',
  'kubernetes.io.example.com/a',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/anything',
  'a.node.kubernetes.io/anything',
  'kubelet.kubernetes.io/anything',
  'a.kubelet.kubernetes.io/anything',
]
const MAY_NOT = [
  'node-restriction.kubernetes.io/a',
  'example.com.node-restriction.kubernetes.io/a',
  'a.b.node-restriction.kubernetes.io/a',
  'kubernetes.io/anything',
  'kubernetes.io/role',
  'a.kubernetes.io/os',
  'node-role.kubernetes.io/control-plane',
  'topology.kubernetes.io/anything',
  'k8s.io/a',
  'example.k8s.io/a',
  'mynode.kubernetes.io/a',
]

await t.test('which labels a kubelet may set, and the API server thinks so too', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  const name = 'worker'
  await registerNode(cluster, { name, biosUUID: '420e3f74-ea84-f9a2-7736-6106bb5dbf6b' })
  const kubelet = await cluster.as(kubeletIdentity(name))
  for (const [keys, may] of [
    [MAY, true],
    [MAY_NOT, false],
  ] as const) {
    for (const key of keys) {
      t.equal(kubeletMaySet(key), may, key)
      const patch = { metadata: { labels: { [key]: 'x' } } }
      const { status } = await kubelet.request('PATCH', `/api/v1/nodes/${name}?dryRun=All`, patch, {
        contentType: 'application/merge-patch+json',
      })
      t.equal(status, may ? 200 : 403, `${key}, says the API server`)
    }
  }
})
