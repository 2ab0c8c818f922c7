import { readFile } from 'node:fs/promises'
import t from 'tap'
import { Agent, request } from 'undici'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { serviceAccountToken } from '../../test/world/service-account.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const dispatcher = new Agent({ connect: { ca: await readFile(cluster.caFile, 'utf8') } })
t.teardown(() => dispatcher.close())
const authorization = `Bearer ${await serviceAccountToken(cluster, 'rollcall-controller')}`

/** The FlowSchema by which the API server handled a request of the controller's account. */
async function flowSchemaOf(path: string, body?: object): Promise<string> {
  const answer = await request(`${cluster.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
    dispatcher,
  })
  await answer.body.dump()
  const uid = answer.headers['x-kubernetes-pf-flowschema-uid']
  const schemas = await cluster.request<{ items: { metadata: { name: string; uid: string } }[] }>(
    'GET',
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  )
  return schemas.body.items.find(({ metadata }) => metadata.uid === uid)?.metadata.name ?? `none is ${uid}`
}

t.test('the Lease has a share of the API server that nothing else of the controller has', async (t) => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
  const metadata = { namespace: 'kube-system', name: 'rollcall-controller' }
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }
  t.equal(await flowSchemaOf(leases, lease), 'system-leader-election')
  t.equal(await flowSchemaOf(`${leases}/rollcall-controller`), 'system-leader-election')
  t.equal(await flowSchemaOf('/api/v1/nodes?limit=1'), 'kube-system-service-accounts')
})
