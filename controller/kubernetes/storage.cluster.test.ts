import { join } from 'node:path'
import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import { systemClock } from '../../agent/shared/clock.ts'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { serviceAccountToken, writeTokenKubeconfig } from '../../test/world/service-account.ts'
import { createKubeClient, type KubeClient } from './client.ts'
import { createVolumeAttachments } from './storage.ts'
import { adminClient, eightAtOnce } from './testing/cluster-client.ts'

const path = '/apis/storage.k8s.io/v1/volumeattachments'
const signal = new AbortController().signal

/** As one that has not asked before. */
const volumesAttachedTo = (client: KubeClient, nodeName: string, over = signal) =>
  createVolumeAttachments(client, systemClock)(nodeName, over)

t.test('on a real API server', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  const client = adminClient(cluster)
  t.teardown(() => client.close())
  const attach = async (name: string, nodeName: string, finalizers: string[] = []) => {
    const { status, body } = await cluster.request('POST', path, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name, finalizers },
      spec: { attacher: 'csi.vsphere.vmware.com', nodeName, source: { persistentVolumeName: `pv-${name}` } },
    })
    if (status !== 201) throw new Error(`${name} was not taken: ${JSON.stringify(body)}`)
  }

  t.equal(await volumesAttachedTo(client, 'a'), 0, 'none at all')
  await attach('one', 'a')
  await attach('two', 'a', ['external-attacher/csi-vsphere-vmware-com'])
  await attach('three', 'a.example')
  t.equal(await volumesAttachedTo(client, 'a'), 2)
  t.equal(await volumesAttachedTo(client, 'A'), 0)
  await cluster.request('DELETE', `${path}/one`)
  await cluster.request('DELETE', `${path}/two`)
  t.equal(await volumesAttachedTo(client, 'a'), 1, 'one is being deleted, and still there')

  await t.test('on the last page', async (t) => {
    await eightAtOnce(600, (index) => attach(`crowd-${index}`, 'b'))
    await attach('zzz', 'c')
    t.equal(await volumesAttachedTo(client, 'c'), 1)
    t.equal(await volumesAttachedTo(client, 'b'), 600)
  })

  await t.test('with the credential of the controller', async (t) => {
    const token = await serviceAccountToken(cluster, 'rollcall-controller')
    const kubeconfig = await writeTokenKubeconfig(join(cluster.dir, 'controller'), cluster, token)
    const own = createKubeClient({
      credentials: { kind: 'kubeconfig', path: kubeconfig },
      clock: systemClock,
      userAgent: 'test',
    })
    t.teardown(() => own.close())
    t.equal(await volumesAttachedTo(own, 'c'), 1)
  })
})

t.test('what cannot be read is not none', async (t) => {
  const answering = (answer: () => Promise<unknown>): KubeClient => ({
    request: answer,
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  })
  const items = (...list: unknown[]) =>
    answering(() => Promise.resolve({ metadata: { resourceVersion: '1' }, items: list }))
  for (const item of [null, {}, { spec: {} }, { spec: { nodeName: 1 } }]) {
    await t.rejects(volumesAttachedTo(items(item), 'a'), /not a VolumeAttachment/, JSON.stringify(item))
  }
  await t.rejects(
    volumesAttachedTo(
      answering(() => Promise.resolve({})),
      'a',
      signal,
    ),
    /not a list/,
  )
  const forbidden = new ApiError('403 Forbidden', { status: 403, reason: 'Forbidden' })
  await t.rejects(
    volumesAttachedTo(
      answering(() => Promise.reject(forbidden)),
      'a',
      signal,
    ),
    forbidden,
  )
})

t.test('those who ask at the same time share one list', async (t) => {
  let lists = 0
  let now = 0
  const client: KubeClient = {
    request: async () => {
      lists++
      return { metadata: { resourceVersion: '1' }, items: [{ spec: { nodeName: 'a' } }] }
    },
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  }
  const volumeAttachments = createVolumeAttachments(client, { monotonic: () => now })
  const attachedTo = (nodeName: string) => volumeAttachments(nodeName, signal)
  t.same(await Promise.all([attachedTo('a'), attachedTo('a'), attachedTo('b')]), [1, 1, 0])
  now = 1000
  await attachedTo('a')
  t.equal(lists, 1)
  now = 1001
  await attachedTo('a')
  t.equal(lists, 2, 'later it may be another')
})
