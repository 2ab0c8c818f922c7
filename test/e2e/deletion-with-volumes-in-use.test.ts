// The real kube-controller-manager deletes the pods of a Node that is out of service, and detaches what they used.
import t from 'tap'
import { startControllerManager } from '../world/control-plane.ts'
import { deletionPending, QUICK } from '../world/deletion.ts'
import { openPlay } from '../world/play.ts'
import { type AnyObject, record } from '../world/recorder.ts'

const DRIVER = 'csi.vsphere.vmware.com'
const HANDLE = 'volume-1'
const MERGE = { contentType: 'application/merge-patch+json' } as const
/** As the CSI driver's attacher puts it on each VolumeAttachment, and takes it away when the volume is detached. */
const FINALIZER = `external-attacher/${DRIVER.replaceAll('.', '-')}`
const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments'

const play = await openPlay(t, ['stateful', 'canary'], {
  ...QUICK,
  maxAbsentShare: '100%',
  waitForVolumes: '5m',
})
const { cluster, nodes } = play
const gone = play.cast.stateful
const pods = await record<AnyObject>(cluster, '/api/v1/namespaces/default/pods')
t.teardown(() => pods.close())
const attachments = await record<AnyObject & { metadata: { deletionTimestamp?: string } }>(
  cluster,
  ATTACHMENTS,
)
t.teardown(() => attachments.close())

t.test('the volume is free before the Node is gone', async (t) => {
  const manager = await startControllerManager(cluster, [
    // The next one finds a Node's pods by an index that this one makes.
    'node-lifecycle-controller',
    'taint-eviction-controller',
    'pod-garbage-collector-controller',
    'persistentvolume-attach-detach-controller',
  ])
  t.teardown(() => manager[Symbol.asyncDispose]())
  await startPodWithVolume(gone.name)
  await attachments.until('it is being attached', () => attachments.versions.length > 0)
  const name = attachments.versions[0]?.object.metadata.name ?? ''
  await send('PATCH', `${ATTACHMENTS}/${name}`, { metadata: { finalizers: [FINALIZER] } })
  await send('PATCH', `${ATTACHMENTS}/${name}/status`, { status: { attached: true } })

  await play.vanish(gone)
  await deletionPending(play, gone.name, { status: 'True', reason: 'VolumesAttached' })
  t.ok(pods.last('database'), 'its pod is there until then')
  await pods.until('the pod is deleted', () => pods.last('database') === undefined)
  await attachments.until(
    'it is being detached',
    () => attachments.last(name)?.metadata.deletionTimestamp !== undefined,
  )
  t.ok(nodes.last(gone.name), 'the Node waits for the driver')
  await send('PATCH', `${ATTACHMENTS}/${name}`, { metadata: { finalizers: null } })
  await play.ends(gone)
})

async function startPodWithVolume(nodeName: string): Promise<void> {
  const storage = { storage: '1Gi' }
  await send('POST', '/apis/storage.k8s.io/v1/csidrivers', {
    metadata: { name: DRIVER },
    spec: { attachRequired: true },
  })
  await send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  const uid = await send('POST', '/api/v1/namespaces/default/persistentvolumeclaims', {
    metadata: { name: 'data' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: storage },
      storageClassName: '',
      volumeName: 'pv-1',
    },
  })
  await send('POST', '/api/v1/persistentvolumes', {
    metadata: { name: 'pv-1' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: storage,
      csi: { driver: DRIVER, volumeHandle: HANDLE },
      claimRef: { namespace: 'default', name: 'data', uid },
    },
  })
  await send('PATCH', '/api/v1/namespaces/default/persistentvolumeclaims/data/status', {
    status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: storage },
  })
  // As the kubelet says that this controller attaches, and which volumes it has mounted.
  await send('PATCH', `/api/v1/nodes/${nodeName}`, {
    metadata: { annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' } },
  })
  await send('PATCH', `/api/v1/nodes/${nodeName}/status`, {
    status: { volumesInUse: [`kubernetes.io/csi/${DRIVER}^${HANDLE}`] },
  })
  await send('POST', '/api/v1/namespaces/default/pods', {
    metadata: { name: 'database' },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      containers: [{ name: 'database', image: 'example.com/database' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  })
}

/** Resolves with the UID of the object. */
async function send(method: 'POST' | 'PATCH', path: string, body: object): Promise<string | undefined> {
  const { status, body: answer } = await cluster.request<{ message?: string; metadata?: { uid: string } }>(
    method,
    path,
    body,
    ...(method === 'PATCH' ? [MERGE] : []),
  )
  if (status >= 300) throw new Error(`${method} ${path} is refused (${status}): ${answer.message}`)
  return answer.metadata?.uid
}
