/**
 * The manifests on the oldest Kubernetes that the README names, and on later ones before that of all other tests: before 1.36
 * by its overlay. Not part of `npm test`, because each API server takes minutes to build: `npm run test:older`.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { dns, ip, subjectOf } from '../../controller/loops/certificates/testing/make-request.ts'
import { until } from '../fixtures/until.ts'
import { serverBinary } from '../servers/build.ts'
import type { Cluster } from '../servers/cluster.ts'
import { policiesInForce } from '../servers/manifests.ts'
import { allowApprovals, REQUESTS, readRequestObject, requestObject } from '../world/certificates.ts'
import { reportObject } from '../world/crowd.ts'
import { QUICK, settled, watched } from '../world/deletion.ts'
import { heartbeat, loseHeartbeats } from '../world/kubelet.ts'
import type { Member } from '../world/member.ts'
import { isShutDown, level } from '../world/objects.ts'
import { createAgentPod, serviceAccountToken } from '../world/service-account.ts'
import { openOwnStage, type Stage } from '../world/stage.ts'

const BEFORE_1_36 = 'overlays/before-1.36'
const VERSIONS = {
  'kube-apiserver-1.31': { version: 'v1.31.0', folder: BEFORE_1_36 },
  'kube-apiserver-1.34': { version: 'v1.34.4', folder: BEFORE_1_36 },
  'kube-apiserver-1.36': { version: 'v1.36.3', folder: '.' },
} as const
const NODES = 10
const merge = { contentType: 'application/merge-patch+json' }

const manifests = join(import.meta.dirname, '../../manifests')
const kubectl = await serverBinary('kubectl')

async function applyFolder(cluster: Cluster, folder: string, ...options: string[]): Promise<string> {
  // Else the cache goes into the home folder, or where there is none into this one.
  const access = [`--kubeconfig=${cluster.adminKubeconfig}`, `--cache-dir=${join(cluster.dir, 'kubectl')}`]
  const args = [...access, 'apply', ...options, '-k', join(manifests, folder)]
  return (await promisify(execFile)(kubectl, args)).stdout
}

for (const apiServer of Object.keys(VERSIONS) as (keyof typeof VERSIONS)[]) {
  const { version, folder } = VERSIONS[apiServer]
  t.test(`Kubernetes ${version}`, async (t) => {
    const apply = async (cluster: Cluster) => {
      t.match((await cluster.request('GET', '/version')).body, { gitVersion: version })
      t.comment(await applyFolder(cluster, folder, '--server-side'))
      await policiesInForce(cluster)
      t.comment(await applyFolder(cluster, folder))
      await allowApprovals(cluster)
    }
    const stage = await openOwnStage(t, { vms: NODES + 1 }, { cluster: { apiServer }, apply })
    if (folder === BEFORE_1_36)
      await t.rejects(applyFolder(stage.cluster, '.'), /no matches for kind "MutatingAdmissionPolicy"/)
    await stage.controller({
      lifecycle: QUICK,
      certificates: { approve: true },
      nodes: { internalNetworkSubnetCidr: '10.0.0.0/8' },
    })
    const members = await initialized(t, stage)
    const [gone, off, other, live] = members
    if (!gone || !off || !other || !live) throw new Error('there are ten')
    await t.test('the policies refuse', (t) => refuse(t, stage, { attacker: other, victim: live }))
    await t.test("a kubelet's certificate is approved, and a thief's refused", (t) =>
      certified(t, stage, live),
    )
    await t.test('a kubelet that sends another zone in its status', (t) =>
      sendAnotherZone(t, stage, { kubeletOf: live, isPutBack: folder !== BEFORE_1_36 }),
    )

    await t.test('a Node whose VM is off is tainted, one whose VM is gone is deleted', async () => {
      const { nodes, vcsim, cluster } = stage
      await watched(stage)
      await vcsim.govc('vm.power', '-off', off.vm.name)
      await nodes.until('it is tainted', () => isShutDown(nodes.last(off.name)))
      await loseHeartbeats(cluster, gone.name)
      await vcsim.govc('vm.destroy', gone.vm.name)
      await nodes.until('it is deleted', () => nodes.last(gone.name) === undefined)
    })
  })
}

async function initialized(t: Test, stage: Stage): Promise<Member[]> {
  const members: Member[] = []
  for (let i = 0; i < NODES; i++) members.push(await stage.member(`worker-${i}`))
  await Promise.all(members.map((member) => member.reportOnce()))
  const names = members.map(({ name }) => name)
  await settled(stage, ...names)
  await stage.nodes.until('all are proven', () =>
    names.every((name) => level(stage.nodes.last(name)) === 'proven'),
  )
  t.pass(`${NODES} Nodes are initialized and proven`)
  return members
}

async function certified(t: Test, { cluster }: Stage, { name, address }: Member): Promise<void> {
  const kubelet = await cluster.as({ user: `system:node:${name}`, groups: ['system:nodes'] })
  const parts = { subject: subjectOf(`system:node:${name}`), names: [dns(name), ip(address)] }
  const token = await serviceAccountToken(cluster, 'rollcall-controller')
  t.match(await kubelet.request('POST', REQUESTS, requestObject('of-kubelet', parts)), { status: 201 })
  await until('it is approved', async () => {
    const { status } = await readRequestObject(cluster, 'of-kubelet')
    return status?.conditions?.some(({ type }) => type === 'Approved')
  })
  t.match(await cluster.request('POST', REQUESTS, requestObject('of-admin', parts)), { status: 201 })
  const status = { conditions: [{ type: 'Approved', status: 'True', reason: 'Stolen', message: 'm' }] }
  t.match(await cluster.request('PATCH', `${REQUESTS}/of-admin/approval`, { status }, { ...merge, token }), {
    status: 403,
    body: { message: /'approve-certificate\.rollcall\.dev'/ },
  })
}

interface Contradiction {
  readonly kubeletOf: Member
  /** Else it is refused. */
  readonly isPutBack: boolean
}

async function sendAnotherZone(
  t: Test,
  stage: Stage,
  { kubeletOf, isPutBack }: Contradiction,
): Promise<void> {
  const { name } = kubeletOf
  const kubelet = await stage.cluster.as({ user: `system:node:${name}`, groups: ['system:nodes'] })
  const zone = 'topology.kubernetes.io/zone'
  const verified = stage.nodes.last(name)?.metadata.labels[zone]
  t.ok(verified)
  const sent = { metadata: { labels: { [zone]: 'elsewhere' } } }
  const answer = await kubelet.request('PATCH', `/api/v1/nodes/${name}/status`, sent, merge)
  if (isPutBack) t.match(answer, { status: 200, body: { metadata: { labels: { [zone]: verified } } } })
  else t.match(answer, { status: 403, body: { message: /'update-node\.rollcall\.dev'/ } })
}

function ownerThatIsGone(uid: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid }
}

interface Attack {
  readonly attacker: Member
  readonly victim: Member
}

async function refuse(t: Test, stage: Stage, { attacker, victim }: Attack): Promise<void> {
  const { cluster, reports } = stage
  const nodePath = `/api/v1/nodes/${victim.name}`
  const kubelet = await cluster.as({ user: `system:node:${attacker.name}`, groups: ['system:nodes'] })
  const victimsKubelet = await cluster.as({ user: `system:node:${victim.name}`, groups: ['system:nodes'] })
  const spec = reports.last(victim.name)?.spec
  if (spec === undefined) throw new Error('the victim has no report')
  const report = reportObject({ name: victim.name, uid: victim.uid, spec })
  const reportPath = `/apis/rollcall.dev/v1alpha1/nodereports/${victim.name}?fieldManager=rollcall-agent&force=true`
  const apply = { contentType: 'application/apply-patch+yaml' }
  const by = (policy: string) => ({ status: 403, body: { message: new RegExp(`'${policy}.rollcall.dev'`) } })

  t.match(
    await kubelet.request('PATCH', reportPath, report, apply),
    by('own-report'),
    "a node, the victim's report",
  )
  const token = async ({ name }: Member) =>
    serviceAccountToken(cluster, 'rollcall-agent', { pod: await createAgentPod(cluster, name) })
  t.match(
    await cluster.request('PATCH', reportPath, report, { ...apply, token: await token(attacker) }),
    by('own-report'),
    "an agent's Pod elsewhere",
  )
  t.match(
    await cluster.request('PATCH', reportPath, report, { ...apply, token: await token(victim) }),
    { status: 200 },
    "its own agent's Pod may: the token names the node",
  )
  t.match(await cluster.request('PATCH', reportPath, report, apply), by('own-report'), 'an administrator')

  const zone = { metadata: { labels: { 'topology.kubernetes.io/zone': 'elsewhere' } } }
  t.match(
    await victimsKubelet.request('PATCH', nodePath, zone, merge),
    by('update-node'),
    'a kubelet, its zone',
  )

  const asController = { token: await serviceAccountToken(cluster, 'rollcall-controller') }
  await heartbeat(cluster, victim.name)
  const { body } = await cluster.request<{
    metadata: { uid: string; resourceVersion: string }
    spec: { taints?: object[] }
  }>('GET', nodePath)
  const { uid, resourceVersion } = body.metadata
  const there = body.spec.taints ?? []
  const taints = (key: string, effect: string) => ({
    spec: { taints: [...there, { key, effect, value: 'rollcall' }] },
  })
  for (const [what, change, message] of [
    [
      'out of service',
      taints('node.kubernetes.io/out-of-service', 'NoExecute'),
      /out of service: it is Ready/,
    ],
    ['uninitialized', taints('node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule'), /other taints/],
    ['a role', { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }, /other labels/],
    ['an owner that is gone', { metadata: { ownerReferences: [ownerThatIsGone(uid)] } }, /ownerReferences/],
    ['held no longer', { metadata: { annotations: { 'rollcall.dev/deletion': 'proceed' } } }, /annotation/],
  ] as const) {
    const answer = await cluster.request('PATCH', nodePath, change, { ...merge, ...asController })
    t.match(answer, by('update-node'), `the controller, a Node that is ready: ${what}`)
    t.match(answer, { body: { message } }, what)
  }
  t.match(
    await cluster.request('DELETE', nodePath, { preconditions: { uid, resourceVersion } }, asController),
    by('delete-node'),
    'the controller, a Node that is ready',
  )
  await cluster.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'nobodys' },
  })
  t.match(
    await cluster.request(
      'PATCH',
      '/api/v1/nodes/nobodys',
      { spec: { providerID: 'vsphere://420e3f74-ea84-f9a2-7736-6106bb5dbf6b' } },
      { ...merge, ...asController },
    ),
    by('update-node'),
    "the controller, nobody's Node",
  )
}
