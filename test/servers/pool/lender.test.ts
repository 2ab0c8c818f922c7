import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import t from 'tap'
import {
  initialize,
  kubeletOf,
  labelNode,
  labelsOf,
  verifiedLabels,
  zone,
} from '../../../manifests/testing/node-writers.ts'
import { registerNode } from '../../../manifests/testing/writers.ts'
import { until } from '../../fixtures/until.ts'
import type { Cluster } from '../cluster.ts'
import { applyManifest } from '../manifests.ts'
import { borrowCluster } from './borrow.ts'
import { startLender } from './lender.ts'
import { LENDER_PORT } from './protocol.ts'

const lender = await startLender()
t.teardown(() => lender[Symbol.asyncDispose]())
const env = { [LENDER_PORT]: String(lender.port) }

async function create(cluster: Cluster, path: string, object: object): Promise<void> {
  const { status, body } = await cluster.request('POST', path, object)
  if (status !== 201) throw new Error(`POST ${path} is answered with ${status}: ${JSON.stringify(body)}`)
}

async function names(cluster: Cluster, path: string): Promise<string[]> {
  const { body } = await cluster.request<{ items: { metadata: { name: string } }[] }>('GET', path)
  return body.items.map(({ metadata }) => metadata.name)
}

const nodes = '/api/v1/nodes'
const pods = '/api/v1/namespaces/kube-system/pods'
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const reports = '/apis/rollcall.dev/v1alpha1/nodereports'
const binding = (does: 'validating' | 'mutating', policy: string) =>
  `/apis/admissionregistration.k8s.io/v1/${does}admissionpolicybindings/${policy}.rollcall.dev`
const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodereports.rollcall.dev'
const mergePatch = { contentType: 'application/merge-patch+json' }

await t.test('whatever one test leaves behind, the next does not find', async (t) => {
  const one = await borrowCluster(env)
  await create(one, nodes, { metadata: { name: 'n1', finalizers: ['example.com/stays'] } })
  await create(one, pods, {
    metadata: { name: 'p1', finalizers: ['example.com/stays'] },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'c' }] },
  })
  await create(one, leases, { metadata: { name: 'rollcall-controller' }, spec: {} })
  await create(one, roles, { metadata: { name: 'r1' }, rules: [] })
  for (let i = 0; i < 50; i++) await create(one, nodes, { metadata: { name: `crowd-${i}` } })
  t.ok(existsSync(one.adminKubeconfig))
  await one.stop()

  await using next = await borrowCluster(env)
  t.equal(next.url, one.url, 'it is the same API server')
  t.strictSame(await names(next, nodes), [])
  t.strictSame(await names(next, pods), [])
  t.notOk((await names(next, leases)).includes('rollcall-controller'))
  t.notOk((await names(next, roles)).includes('r1'))
  t.notOk(existsSync(one.dir), 'its files are gone, too')
})

const controllerOf = (cluster: Cluster) =>
  cluster.as({ user: 'system:serviceaccount:kube-system:rollcall-controller' })

/** Whether the controller is kept from a label that is none of its own. */
async function controllerIsRefused(cluster: Cluster): Promise<boolean> {
  const { status, message } = await labelNode(await controllerOf(cluster), 'n1', { a: 'b' })
  return status === 403 && /update-node\.rollcall\.dev/.test(message)
}

/** Whether a verified label is put back that the kubelet changes. */
async function labelIsRestored(cluster: Cluster): Promise<boolean> {
  const { status } = await labelNode(await kubeletOf(cluster, 'n2'), 'n2/status', { [zone]: 'other' })
  return status === 200 && (await labelsOf(cluster, 'n2'))[zone] !== 'other'
}

async function createTwoNodes(cluster: Cluster): Promise<void> {
  await create(cluster, nodes, { metadata: { name: 'n1' } })
  await registerNode((await kubeletOf(cluster, 'n2')).request, 'n2')
  await initialize(await controllerOf(cluster), 'n2')
}

await t.test('what it changes in the manifests is as before, and acts', async (t) => {
  const one = await borrowCluster(env)
  await createTwoNodes(one)
  const role = `${roles}/rollcall-controller`
  const { body: before } = await one.request<{ rules: unknown }>('GET', role)
  t.match(await one.request('DELETE', binding('validating', 'update-node')), { status: 200 })
  t.match(await one.request('DELETE', binding('mutating', 'restore-labels')), { status: 200 })
  await until('the controller is let through', async () => !(await controllerIsRefused(one)))
  await until('the kubelet is let through, too', async () => !(await labelIsRestored(one)))
  t.match(await one.request('PATCH', role, { rules: [] }, mergePatch), { status: 200 })
  await one.stop()

  await using next = await borrowCluster(env)
  t.equal(next.url, one.url)
  t.match(await next.request('GET', role), { status: 200, body: { rules: before.rules } })
  await createTwoNodes(next)
  t.ok(await controllerIsRefused(next))
  t.ok(await labelIsRestored(next))
  t.match(await labelsOf(next, 'n2'), verifiedLabels)
})

await t.test('so is what it deletes of them', async (t) => {
  const one = await borrowCluster(env)
  t.match(await one.request('DELETE', binding('validating', 'own-report')), { status: 200 })
  t.match(await one.request('DELETE', crd), { status: 200 })
  await one.stop()

  await using next = await borrowCluster(env)
  t.equal(next.url, one.url)
  t.strictSame(await names(next, reports), [])
  const empty = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeReport',
    metadata: { name: 'n2' },
    spec: {},
  }
  t.match(await next.request('POST', reports, empty), { status: 422 })
})

await t.test('a namespace goes, though nobody finalizes it', async (t) => {
  const one = await borrowCluster(env)
  await applyManifest(one, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
  await one.stop()
  await using next = await borrowCluster(env)
  t.equal(next.url, one.url)
  t.notOk((await names(next, '/api/v1/namespaces')).includes('other'))
})

const script = `
import { borrowCluster } from ${JSON.stringify(import.meta.resolve('./borrow.ts'))}
console.log((await borrowCluster()).url)
`

await t.test('the cluster of a test that was killed is not lent again', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  child.kill('SIGKILL')
  await once(child, 'exit')
  await using next = await borrowCluster(env)
  t.not(next.url, url)
})
