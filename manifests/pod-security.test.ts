// What Pod Security's "restricted" says to the Pods, by the API server's own admission.
import t from 'tap'
import { podTemplate } from '../test/servers/manifests.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const namespace = 'restricted'
const put = async (path: string, object: object) => {
  const { status } = await cluster.request('POST', path, object)
  if (status !== 201) throw new Error(`${path} answers ${status}`)
}
await put('/api/v1/namespaces', {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
})

/** What keeps the Pods of a file out of a restricted namespace; empty where nothing does. */
async function violations(file: string, change: object = {}): Promise<string[]> {
  const { metadata, spec } = await podTemplate(file)
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name: 'tried' },
    spec: { ...spec, serviceAccountName: 'default', automountServiceAccountToken: false, ...change },
  }
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`
  const { status, body } = await cluster.request<{ message?: string }>('POST', path, pod)
  if (status === 201) return []
  const [, list] = /violates PodSecurity "restricted:latest": (.*)$/.exec(body.message ?? '') ?? []
  if (list === undefined) throw new Error(`${file}: ${status} ${body.message}`)
  return list.replaceAll(/ \([^)]*\)/g, '').split(', ')
}

await put(`/api/v1/namespaces/${namespace}/serviceaccounts`, {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'default' },
})

await t.test("the controller is restricted, but for the host's network", async (t) => {
  t.strictSame(await violations('controller.yaml'), ['host namespaces', 'hostPort'])
  t.strictSame(await violations('controller.yaml', { securityContext: {} }), [
    'host namespaces',
    'hostPort',
    'runAsNonRoot != true',
    'seccompProfile',
  ])
})

await t.test("the agent as well, but that it is root, to read the machine's serial number", async (t) => {
  t.strictSame(await violations('agent.yaml'), ['host namespaces', 'runAsNonRoot != true', 'runAsUser=0'])
})
