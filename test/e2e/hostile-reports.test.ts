import t from 'tap'
import { spec as goodSpec, NODE_UID } from '../fixtures/facts.ts'
import { until } from '../fixtures/until.ts'
import { applyManifest, readManifests } from '../servers/manifests.ts'
import { reportObject } from '../world/crowd.ts'
import { kubeletIdentity } from '../world/kubelet.ts'
import { productUUID } from '../world/machine.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// A node says nonsense, with its own credential, which admission lets it do.
const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, reports } = stage
const controller = await stage.controller()
const bystander = await stage.initialized('bystander')

const member = await stage.member('hostile')
const kubelet = await cluster.as(kubeletIdentity(member.name))
const honest = goodSpec({
  nodeUID: member.uid,
  machine: {
    vendor: 'VMware, Inc.',
    product: 'VMware20,1',
    serialUUID: member.vm.uuid,
    productUUID: productUUID(member.vm.uuid),
  },
  interfaces: [
    {
      name: 'ens192',
      mac: member.vm.vnics[0]?.mac ?? '',
      defaultRoute: true,
      addresses: [{ address: member.address, prefixLength: 24 }],
    },
  ],
  cloudInit: { instanceID: 'i-1', localHostname: 'hostile', addresses: ['10.0.0.5/24'] },
  unreadable: [{ fact: 'x', reason: 'NotFound', message: 'not there' }],
})

t.test('admission refuses what fits the schema and is not for this node to say', async (t) => {
  const { status, message } = await write({ ...honest, nodeUID: NODE_UID })
  t.equal(status, 403)
  t.match(message, /ownerReferences|nodeUID/)
  t.equal(reports.last(member.name), undefined, 'nothing has got through so far')
})

t.test('with a schema that lets everything pass: the controller names the field', async (t) => {
  await applyManifest(cluster, await looseCRD())
  const nonsense = async () => (await write({ ...honest, bootID: 42 }, '&dryRun=All')).status
  await until('the schema lets everything pass', async () => (await nonsense()) < 300)
  // Each field is tried on the schema in manifests/crd.test.ts, and on the parser in agent/shared/node-report.test.ts.
  const { reason: _reason, ...unreasoned } = honest.claim
  const wrong: readonly [string, object][] = [
    [
      'spec.interfaces.0.mac',
      { ...honest, interfaces: [{ ...honest.interfaces[0], mac: 'x'.repeat(100_000) }] },
    ],
    ['spec.machine', { ...honest, machine: 'xxxx' }],
    ['spec.claim.reason', { ...honest, claim: unreasoned }],
  ]
  for (const [field, spec] of wrong) {
    const { generation } = await write(spec)
    const current = () => condition(reports.last(member.name), 'IdentityVerified')
    await reports.until(
      `the controller has judged ${field}`,
      () => current()?.observedGeneration === generation,
    )
    t.match(current(), { status: 'False', reason: 'ReportInvalid' }, field)
    t.ok(current()?.message?.startsWith(`${field}: expected `), String(current()?.message))
    t.notMatch(current()?.message, 'xxxx', 'it does not repeat what the stranger wrote')
  }
  t.equal(nodes.of(member.name).length, 1, 'the Node was never touched')
  t.equal(controller.exit(), undefined, 'the controller lives')
})

t.test('then it tells the truth, and all is well', async (t) => {
  await applyManifest(cluster, await strictCRD())
  await until('the schema is back', async () => (await write(honest, '&dryRun=All')).status < 300)
  t.match(await write(honest), { status: 200 })
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  t.equal(nodes.of(bystander.name).length, 3, 'the other Node was left alone all the while')
})

async function strictCRD() {
  const [crd] = await readManifests('crd.yaml')
  if (crd === undefined) throw new Error('crd.yaml is empty')
  return crd
}

async function looseCRD() {
  const crd = structuredClone(await strictCRD()) as Awaited<ReturnType<typeof strictCRD>> & {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: object } } } }[] }
  }
  for (const version of crd.spec.versions) {
    version.schema.openAPIV3Schema.properties.spec = { 'x-kubernetes-preserve-unknown-fields': true }
  }
  return crd
}

async function write(
  spec: object,
  query = '',
): Promise<{ status: number; message: string; generation: number }> {
  const object = { ...reportObject({ name: member.name, uid: member.uid, spec: honest }), spec }
  const { status, body } = await kubelet.request<{ message?: string; metadata?: { generation?: number } }>(
    'PATCH',
    `/apis/rollcall.dev/v1alpha1/nodereports/${member.name}?fieldManager=rollcall-agent&force=true${query}`,
    object,
    { contentType: 'application/apply-patch+yaml' },
  )
  return { status, message: body.message ?? '', generation: body.metadata?.generation ?? 0 }
}
