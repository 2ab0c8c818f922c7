import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../test/fixtures/until.ts'
import { applyManifest, applyManifests, readManifests } from '../test/servers/manifests.ts'
import { startCluster } from '../test/servers/start-cluster.ts'
import { withApiClient } from './api/client.ts'
import { type CredentialSource, inClusterCredential, kubeconfigCredential } from './api/credential.ts'
import { createGuestinfo, findTools as locate } from './facts/guestinfo.ts'
import { explainFailure } from './failure.ts'
import { readGuestFacts, readLocalFacts } from './gather.ts'
import { fileFingerprint } from './kubelet-start.ts'
import { createReporter, publish, type ReportOutcome } from './send-report.ts'
import { systemClock } from './shared/clock.ts'
import {
  AGENT_FIELD_MANAGER,
  ANNOTATION_REPORTED_AT,
  claimDigest,
  GUESTINFO_CLAIM,
  type NodeReportSpec,
  parseClaim,
} from './shared/node-report.ts'
import { makeRoot, plant, plantTool, VM_TREE } from './testing/root.ts'

/** The test that a folder is removed with. */
type Owner = Parameters<typeof makeRoot>[0]

const cluster = await startCluster()
t.teardown(() => cluster.stop())
const { signal } = new AbortController()

/** The agents' time, milliseconds since 1970; turned by hand. */
let now = Date.parse('2026-11-21T09:30:00.999Z')
const { hostname, port } = new URL(cluster.url)

interface NodeReport {
  metadata: {
    uid: string
    generation: number
    resourceVersion: string
    annotations?: Record<string, string>
    ownerReferences: unknown
    managedFields: readonly { manager: string; fieldsV1: unknown }[]
  }
  spec: NodeReportSpec
}

/** Registers a Node; resolves with its UID. */
async function register(name: string): Promise<string> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name } }
  const { status, body } = await cluster.request<{ metadata: { uid: string } }>('POST', '/api/v1/nodes', node)
  if (status !== 201) throw new Error(`Node ${name} is refused: ${JSON.stringify(body)}`)
  return body.metadata.uid
}

const report = (name: string) =>
  cluster.request<NodeReport>('GET', `/apis/rollcall.dev/v1alpha1/nodereports/${name}`)

const kubelet = async (node: string) =>
  kubeconfigCredential([await cluster.kubeconfig({ user: `system:node:${node}`, groups: ['system:nodes'] })])

/** A service account's token, bound to a Pod of this name where one is given. */
async function token(pod?: string): Promise<string> {
  const path = '/api/v1/namespaces/kube-system/serviceaccounts/rollcall-agent/token'
  const boundObjectRef = pod === undefined ? undefined : { apiVersion: 'v1', kind: 'Pod', name: pod }
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { boundObjectRef } }
  const { status, body } = await cluster.request<{ status: { token: string } }>('POST', path, request)
  if (status !== 201) throw new Error(`no token: ${JSON.stringify(body)}`)
  return body.status.token
}

async function createPod(name: string, nodeName: string): Promise<void> {
  const spec = { nodeName, serviceAccountName: 'rollcall-agent', containers: [{ name: 'c', image: 'i' }] }
  const path = '/api/v1/namespaces/kube-system/pods'
  const { status, body } = await cluster.request('POST', path, { metadata: { name }, spec })
  if (status !== 201) throw new Error(`no Pod: ${JSON.stringify(body)}`)
}

/** The folder that a kubelet mounts into a pod. */
const serviceAccount = (t: Owner, text: string) =>
  makeRoot(t, { token: text, 'ca.crt': readFileSync(cluster.caFile) })

/** A guest RPC tool whose host keeps the variables as files. */
const plantHost = (root: string) =>
  plantTool(
    root,
    `cd ${root}; set -- $1
echo "$*" >> calls
case $1 in
info-set) shift; k=$1; shift; echo "$*" > $k;;
*) cat "$2" 2>/dev/null || { echo "No value found" >&2; exit 1; };;
esac`,
  )

/** An agent on a VM; its sign of another registration is the file at `sign`. */
function agent(t: Owner, credential: CredentialSource, sign = '/nowhere') {
  const root = makeRoot(t, VM_TREE)
  plantHost(root)
  const findTools = () => locate(root, '/nowhere/rollcall-agent')
  const guestinfo = createGuestinfo({ findTools, clock: systemClock, signal })
  const reporter = createReporter({
    agentVersion: '0.1.0',
    refresh: 1_800_000,
    credential,
    client: { userAgent: 'rollcall-agent/test', signal },
    guestinfo,
    drawNonce: () => randomBytes(16).toString('hex'),
    readLocal: () => readLocalFacts(root, () => ({})),
    readGuest: () => readGuestFacts(root, guestinfo, signal),
    readFingerprint: () => fileFingerprint(sign),
    now: () => now,
  })
  return { root, reporter }
}

/** What stands in guestinfo. */
function claimIn(root: string): string {
  return readFileSync(join(root, GUESTINFO_CLAIM), 'utf8').trim()
}

/** The claim in guestinfo and its digest; nothing but the claim itself is to have the nonce. */
function claimAndDigest(root: string) {
  const claim = parseClaim(claimIn(root))
  if (claim?.nonce === undefined) throw new Error(`no claim with a nonce: ${claimIn(root)}`)
  return { ...claim, nonce: claim.nonce, digest: claimDigest(claim) }
}

function cause(outcome: ReportOutcome): string {
  return outcome.ok ? 'sent' : outcome.failure.cause
}

/** As a kubelet does with its socket for device plugins: what stands there goes. */
async function listen(path: string): Promise<Server> {
  rmSync(path, { force: true })
  const server = createServer().listen(path)
  await once(server, 'listening')
  return server
}

/** The CRD as it was before claims had a nonce. */
async function applyOlderCRD(): Promise<void> {
  for (const crd of await readManifests('crd.yaml')) {
    const text = JSON.stringify(crd, (key, value: unknown) =>
      key === 'digest' || key === 'refreshSeconds' ? undefined : value,
    )
    await applyManifest(cluster, { ...crd, ...JSON.parse(text) })
  }
}

t.test('before the CRD and the RBAC are installed', async (t) => {
  const outcome = await agent(t, await kubelet('n0')).reporter.report()
  t.equal(cause(outcome), 'NodeMissing')
  await register('n0')
  const { reporter } = agent(t, await kubelet('n0'))
  // The authorizer learns of a Node a moment after it is there.
  t.match(await reporter.report(), { failure: { cause: /^publish\/403/, next: /RBAC/ } })
  await applyManifests(cluster, ['rbac.yaml'])
  await t.test('the right is there, the resource is not', async (t) => {
    await until('the right is there', async () => cause(await reporter.report()) === 'publish/404')
    t.match(await reporter.report(), { failure: { cause: 'publish/404', next: /CRD/ } })
  })
  await applyManifests(cluster)
})

t.test('a kubelet’s credential', async (t) => {
  const uid = await register('n1')
  const socket = { path: join(makeRoot(t), 'kubelet.sock'), server: createServer() }
  socket.server = await listen(socket.path)
  t.teardown(() => socket.server.close())
  const { root, reporter } = agent(t, await kubelet('n1'), socket.path)
  plant(root, { 'guestinfo.metadata': '{"instance-id":"i-1","local-hostname":"n1"}' })
  t.ok(reporter.changed(), 'nothing was sent yet')
  t.match(await reporter.report(), { ok: true, changed: true, identity: { nodeName: 'n1', nodeUID: uid } })

  const { status, body } = await report('n1')
  t.equal(status, 200)
  t.match(body.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid }])
  t.match(body.spec, {
    nodeUID: uid,
    machine: { serialUUID: '420e3f74-ea84-f9a2-7736-6106bb5dbf6b' },
    interfaces: [
      { name: 'eth0', defaultRoute: true, addresses: [{ address: '10.0.0.5', prefixLength: 24 }] },
    ],
    cloudInit: { instanceID: 'i-1' },
    claim: { written: true, reason: 'Written' },
  })
  const claim = claimIn(root)
  const { nodeUID, bootID, nonce, digest } = claimAndDigest(root)
  t.match(
    { nodeUID, bootID, digest },
    { nodeUID: uid, bootID: body.spec.bootID, digest: body.spec.claim.digest },
  )
  t.notMatch(JSON.stringify(body), nonce, 'no reader of the report learns it')

  await t.test('again, unchanged', async (t) => {
    t.notOk(reporter.changed())
    reporter.forget()
    t.match(await reporter.report(), { ok: true, changed: false })
    const still = (await report('n1')).body.metadata
    t.equal(still.resourceVersion, body.metadata.resourceVersion, 'within a second it leaves no trace')
    const calls = readFileSync(join(root, 'calls'), 'utf8').trim().split('\n')
    t.equal(calls.filter((call) => call.startsWith('info-set')).length, 1, 'the claim is written once')
  })
  await t.test('a sign of life: the time alone', async (t) => {
    const { metadata } = body
    t.strictSame(metadata.annotations, { [ANNOTATION_REPORTED_AT]: '2026-11-21T09:30:00Z' })
    const owner = metadata.managedFields.find(({ manager }) => manager === AGENT_FIELD_MANAGER)
    t.match(owner?.fieldsV1, { 'f:metadata': { 'f:annotations': { [`f:${ANNOTATION_REPORTED_AT}`]: {} } } })

    now += 270_000
    t.notOk(reporter.changed(), 'time is no change of the machine')
    t.match(await reporter.report(), { ok: true, changed: false })
    const later = (await report('n1')).body.metadata
    t.strictSame(later.annotations, { [ANNOTATION_REPORTED_AT]: '2026-11-21T09:34:30Z' })
    t.not(later.resourceVersion, metadata.resourceVersion, 'watchers see it')
    t.equal(later.generation, metadata.generation, 'the spec is the same to all who read it')

    now -= 86_400_000
    t.match(await reporter.report(), { ok: true, changed: false }, 'a clock that was set back')
    const back = (await report('n1')).body.metadata
    t.strictSame(back.annotations, { [ANNOTATION_REPORTED_AT]: '2026-11-20T09:34:30Z' })
  })
  await t.test('the lease renews to another address', async (t) => {
    const before = readFileSync(join(root, 'calls'), 'utf8')
    plant(root, {
      'run/rollcall/network-interfaces.json': '{"eth0":[{"address":"10.0.0.9","cidr":"10.0.0.9/24"}]}',
    })
    t.ok(reporter.changed())
    t.match(await reporter.report(), { ok: true, changed: true })
    t.match((await report('n1')).body.spec.interfaces, [{ addresses: [{ address: '10.0.0.9' }] }])
    t.equal(readFileSync(join(root, 'calls'), 'utf8'), before, 'without a word to the hypervisor')
  })
  await t.test('something else writes the claim: put right at the refresh', async (t) => {
    plant(root, { [GUESTINFO_CLAIM]: 'v1 somebody else' })
    t.notOk(reporter.changed(), 'nobody looks in between')
    reporter.forget()
    t.match(await reporter.report(), { ok: true, changed: false, spec: { claim: { written: true } } })
    t.equal(claimIn(root), claim)
  })
  await t.test('the Node is registered anew', async (t) => {
    await cluster.request('DELETE', '/api/v1/nodes/n1')
    const other = await register('n1')
    t.notOk(reporter.changed())
    // What a kubelet does at its start, the only moment at which it registers.
    const before = socket.server
    socket.server = await listen(socket.path)
    before.close()
    t.ok(reporter.changed(), 'its kubelet has started')
    t.match(await reporter.report(), { ok: true, changed: true, identity: { nodeUID: other } })
    const { body } = await report('n1')
    t.match(body.metadata.ownerReferences, [{ uid: other }])
    const anew = claimAndDigest(root)
    t.match(anew, { nodeUID: other, digest: body.spec.claim.digest })
    t.not(anew.nonce, nonce)
  })
})

t.test('a token that is bound to a Pod', async (t) => {
  const uid = await register('n2')
  await createPod('agent-n2', 'n2')
  const folder = serviceAccount(t, await token('agent-n2'))
  const credential = inClusterCredential({ host: hostname, port, folder })
  const { reporter } = agent(t, credential, join(folder, 'token'))
  t.match(await reporter.report(), { ok: true, identity: { nodeName: 'n2', nodeUID: uid } })
  t.match((await report('n2')).body, { spec: { nodeUID: uid }, metadata: { ownerReferences: [{ uid }] } })

  await t.test('expired, then renewed', async (t) => {
    const good = readFileSync(join(folder, 'token'))
    plant(folder, { token: 'expired' })
    t.match(await reporter.report(), { failure: { cause: 'identify/401/Unauthorized', next: /read again/ } })
    plant(folder, { token: good })
    t.match(await reporter.report(), { ok: true })
  })
  await t.test('the Node is registered anew, and the Pod stays', async (t) => {
    await cluster.request('DELETE', '/api/v1/nodes/n2')
    const orphaned = await token('agent-n2')
    const other = await register('n2')
    t.match(await reporter.report(), { ok: true, identity: { nodeUID: uid } }, 'the token does not know')
    t.notOk(reporter.changed())
    plant(folder, { token: orphaned })
    t.ok(reporter.changed(), 'the kubelet has started, and asked for another token')
    t.match(await reporter.report(), {
      failure: { cause: 'NoNodeIdentity', message: /"n2" without its UID/, next: /delete this pod/ },
    })
    plant(folder, { token: await token('agent-n2') })
    t.match(await reporter.report(), { ok: true, identity: { nodeUID: other } })
    t.match((await report('n2')).body, {
      spec: { nodeUID: other },
      metadata: { ownerReferences: [{ uid: other }] },
    })
  })
})

t.test('a guest RPC tool that comes late', async (t) => {
  await register('n5')
  const { root, reporter } = agent(t, await kubelet('n5'))
  rmSync(join(root, 'usr/bin/vmware-rpctool'))
  plant(root, { 'guestinfo.metadata': '{"instance-id":"i-5"}' })
  const missing = { written: false, reason: 'ToolMissing' }
  t.match(await reporter.report(), { ok: true, spec: { claim: missing, cloudInit: undefined } })
  t.ok(reporter.claimPending())
  await reporter.retryClaim()
  t.notOk(reporter.changed(), 'nothing is new')
  plantHost(root)
  await reporter.retryClaim()
  t.notOk(reporter.claimPending())
  t.ok(reporter.changed())
  t.match(await reporter.report(), {
    ok: true,
    spec: { claim: { written: true }, tools: { guestinfoReadable: true }, cloudInit: { instanceID: 'i-5' } },
  })
  t.match((await report('n5')).body.spec.claim, { written: true, reason: 'Written' })
  t.notOk(reporter.changed())
})

t.test('a credential of no node', async (t) => {
  const folder = serviceAccount(t, await token())
  const unbound = agent(t, inClusterCredential({ host: hostname, port, folder }))
  t.match(await unbound.reporter.report(), {
    failure: { cause: 'NoNodeIdentity', message: /bound to a pod/ },
  })
  const admin = agent(t, kubeconfigCredential([cluster.adminKubeconfig]))
  t.match(await admin.reporter.report(), { failure: { cause: 'NoNodeIdentity', message: /"admin"/ } })
})

t.test('reports that are refused', async (t) => {
  const uid = await register('n3')
  const credential = await kubelet('n3')
  const outcome = await agent(t, credential).reporter.report()
  if (!outcome.ok) throw new Error(`not sent: ${outcome.failure.message}`)
  const refused = async (nodeName: string, spec: NodeReportSpec) => {
    const client = { userAgent: 'test', signal }
    const sent = withApiClient(await credential(), client, (api) =>
      publish(api, { nodeName, nodeUID: uid }, spec, now),
    )
    return explainFailure(await sent.catch((error: unknown) => error), 'publish')
  }
  t.match(await refused('n1', outcome.spec), {
    cause: 'publish/403/Forbidden',
    message: /own-report/,
    next: /the admission policy lets each node write its own report only/,
  })
  t.match(await refused('n3', { ...outcome.spec, hostname: 'x'.repeat(300) }), {
    cause: 'publish/422/Invalid',
    message: /spec\.hostname/,
    next: /schema refuses/,
  })
  t.match(await refused('n3', { ...outcome.spec, claim: { ...outcome.spec.claim, digest: 'x' } }), {
    cause: 'publish/422/Invalid',
    message: /spec\.claim\.digest/,
  })
  const newer = Object.assign({ firmware: 'efi' }, outcome.spec)
  t.match(await refused('n3', newer), {
    message: /\.spec\.firmware: field not declared in schema/,
    next: /the CRD is older than this agent/,
  })
})

t.test('a CRD older than the nonce and the time between reports, and the newer one again', async (t) => {
  const uid = await register('n6')
  const credential = await kubelet('n6')
  const { root, reporter } = agent(t, credential)
  const stands = async () => (await report('n6')).body.spec.claim
  const refreshSeconds = async () => (await report('n6')).body.spec.refreshSeconds
  const calls = () => readFileSync(join(root, 'calls'), 'utf8').trim().split('\n')
  const first = await reporter.report()
  if (!first.ok) throw new Error(`not sent: ${first.failure.message}`)
  const before = claimAndDigest(root)
  t.match(await stands(), { reason: 'Written', digest: before.digest })
  t.equal(await refreshSeconds(), 1_800)
  const isRefused = async () => {
    const sent = withApiClient(await credential(), { userAgent: 'test', signal }, (api) =>
      publish(api, { nodeName: 'n6', nodeUID: uid }, first.spec, now, { dryRun: true }),
    )
    return sent.then(
      () => false,
      (error: unknown) => /claim\.digest: field not declared/.test(String(error)),
    )
  }

  await applyOlderCRD()
  await until('the API server knows no digest', isRefused)
  reporter.forget()
  const plain = `v1 ${uid} ${before.bootID}`
  const withoutNonce = { written: true, reason: 'WithoutNonce', digest: undefined }
  t.match(await reporter.report(), { ok: true, changed: true, spec: { claim: withoutNonce } })
  t.equal(claimIn(root), plain, 'an older controller proves the Node by it')
  t.match(await stands(), withoutNonce)
  t.equal(await refreshSeconds(), undefined)
  const written = calls().length
  t.notOk(reporter.changed())
  reporter.forget()
  t.match(await reporter.report(), { ok: true, changed: false, spec: { claim: withoutNonce } })
  t.notOk(
    calls()
      .slice(written)
      .some((call) => call.startsWith('info-set')),
    'a refresh leaves it there',
  )
  const restarted = agent(t, credential)
  t.match(await restarted.reporter.report(), { ok: true, spec: { claim: withoutNonce } })
  t.equal(claimIn(restarted.root), plain, 'nor does an agent that starts then insist on a nonce')

  await applyManifests(cluster, ['crd.yaml'])
  await until('the API server knows the digest', async () => !(await isRefused()))
  t.match(await reporter.report(), { ok: true, spec: { claim: withoutNonce } }, 'not before a refresh')
  reporter.forget()
  t.match(await reporter.report(), { ok: true, changed: true, spec: { claim: { reason: 'Written' } } })
  t.same(claimAndDigest(root), before, 'the nonce of before')
  t.equal(await refreshSeconds(), 1_800)
  t.match(await stands(), { reason: 'Written', digest: before.digest })
})

t.test('a report that fails leaves the claim, and the next has its digest', async (t) => {
  await register('n7')
  const { root, reporter } = agent(t, await kubelet('n7'))
  await cluster.request('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/rollcall-agent')
  await until('the right is gone', async () => cause(await reporter.report()).startsWith('publish/403'))
  const { digest } = claimAndDigest(root)
  await applyManifests(cluster, ['rbac.yaml'])
  await until('it is back', async () => (await reporter.report()).ok)
  t.equal((await report('n7')).body.spec.claim.digest, digest)
})

t.test('no API server, then it is back', async (t) => {
  await register('n4')
  const { root, reporter } = agent(t, await kubelet('n4'))
  await cluster.stopApiServer()
  for (let i = 0; i < 3; i++) {
    t.match(await reporter.report(), { failure: { cause: 'NoConnection/ECONNREFUSED', next: /waiting/ } })
  }
  const asked = readFileSync(join(root, 'calls'), 'utf8').trim().split('\n')
  t.equal(asked.length, 1, 'attempts cost no processes')
  await cluster.startApiServer()
  t.match(await reporter.report(), { ok: true })
})

t.test('a kubelet that starts while a report is under way is not missed', async (t) => {
  const sign = join(t.testdir({ sign: '' }), 'sign')
  const credential = await kubelet('n9')
  await register('n9')
  const starts = async () => {
    rmSync(sign, { force: true })
    return credential()
  }
  const { reporter } = agent(t, starts, sign)
  t.match(await reporter.report(), { ok: true })
  t.ok(reporter.changed())
})
