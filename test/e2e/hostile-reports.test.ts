import t from 'tap'
import { spec as goodSpec, NODE_UID } from '../fixtures/facts.ts'
import { kubeletIdentity } from '../fixtures/kubelet.ts'
import { reportObject } from '../fixtures/load.ts'
import { productUUID } from '../fixtures/machine.ts'
import { until } from '../fixtures/until.ts'
import { applyManifest, readManifests } from '../servers/manifests.ts'
import { condition, isInitialized } from './objects.ts'
import { openStage } from './stage.ts'

// A node says nonsense, with its own credential, which admission lets it do.
const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, reports } = stage
const controller = await stage.controller()
const bystander = await stage.member('bystander')
await bystander.reportOnce()
await nodes.until('the bystander is initialised', () => isInitialized(nodes.last(bystander.name)))

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

const CONTROL = 'a\u0007b'
const LONG = 'x'.repeat(100_000)
/** Each field of the report by its path, with values that are wrong for it. */
const wrong: Record<string, readonly unknown[]> = {
  nodeUID: [42, 'not a UUID', LONG, undefined],
  bootID: [42, 'not a UUID', '', LONG],
  agentVersion: [42, CONTROL, LONG, undefined],
  machine: ['a string', []],
  'machine.vendor': [42, CONTROL, LONG],
  'machine.product': [{}, CONTROL, LONG],
  'machine.serialUUID': [42, 'VMware-42 0e', '420E3F74-EA84-F9A2-7736-6106BB5DBF6B', LONG],
  'machine.productUUID': [[], 'xyz', LONG],
  hostname: [42, CONTROL, LONG],
  interfaces: [
    'none',
    {},
    Array.from({ length: 17 }, (_, i) => ({ ...honest.interfaces[0], name: `e${i}` })),
  ],
  'interfaces.0': ['eth0', 7],
  'interfaces.0.name': [42, CONTROL, 'x'.repeat(16), undefined],
  'interfaces.0.mac': [42, '00-50-56-8e-00-01', '00:50:56:8E:00:01', LONG, undefined],
  'interfaces.0.defaultRoute': ['yes', 1, undefined],
  'interfaces.0.addresses': [
    '10.0.0.5',
    undefined,
    Array.from({ length: 17 }, () => ({ address: '10.0.0.5', prefixLength: 24 })),
  ],
  'interfaces.0.addresses.0.address': [42, '10.0.0.256', 'fe80::1%eth0', '10.0.0.5/24', LONG, undefined],
  'interfaces.0.addresses.0.prefixLength': ['24', -1, 129, 1.5, undefined],
  'interfaces.0.addresses.0.temporary': ['no', 0],
  'interfaces.0.addresses.0.deprecated': ['no', 0],
  'interfaces.0.addresses.0.secondary': ['no', 0],
  tools: [true, undefined],
  'tools.version': [12, CONTROL, LONG],
  'tools.guestinfoReadable': ['yes', undefined],
  'tools.guestinfoWritable': ['yes', undefined],
  cloudInit: ['none', []],
  'cloudInit.instanceID': [42, CONTROL, LONG],
  'cloudInit.localHostname': [42, CONTROL, LONG],
  'cloudInit.addresses': ['10.0.0.5', [42], [LONG], Array.from({ length: 17 }, () => '10.0.0.5')],
  claim: ['yes', undefined],
  'claim.written': ['yes', undefined],
  'claim.reason': [42, 'not CamelCase', '', LONG, undefined],
  'claim.message': [42, CONTROL, LONG, undefined],
  unreadable: ['all', Array.from({ length: 17 }, () => ({ fact: 'x', reason: 'X', message: '' }))],
  'unreadable.0.fact': [42, CONTROL, LONG, undefined],
  'unreadable.0.reason': [42, 'no', LONG, undefined],
  'unreadable.0.message': [42, CONTROL, LONG, undefined],
}

/** The honest report with one field replaced; undefined takes it away. */
function withField(path: string, value: unknown): object {
  const changed: unknown = structuredClone(honest)
  const keys = path.split('.')
  let place = changed
  for (const key of keys.slice(0, -1)) place = Reflect.get(Object(place), key)
  const last = keys.at(-1) ?? ''
  if (value === undefined) Reflect.deleteProperty(Object(place), last)
  else Reflect.set(Object(place), last, value)
  return Object(changed)
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : (JSON.stringify(value) ?? '').slice(0, 30)
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

/** "interfaces.0.mac" as the API server writes it: "interfaces[0].mac", or with the key, or with what is missing. */
function names(message: string, path: string): boolean {
  const plain = message.replaceAll(/\[(\d+|\w+="[^"]*")\]/g, '').replaceAll('"', '')
  const fields = path.split('.').filter((key) => !/^\d+$/.test(key))
  return fields.length === 0 || plain.includes(fields.join('.')) || plain.includes(fields.at(-1) ?? '')
}

for (const [path, values] of Object.entries(wrong)) {
  t.test(`the schema refuses ${path}`, async (t) => {
    for (const value of values) {
      const { status, message } = await write(withField(path, value))
      t.ok(status >= 400 && status < 600, `${shown(value)}: ${status}`)
      t.ok(names(message, path), `${shown(value)}: ${message.slice(0, 200)}`)
    }
  })
}

t.test('admission refuses what fits the schema and is not for this node to say', async (t) => {
  const { status, message } = await write({ ...honest, nodeUID: NODE_UID })
  t.equal(status, 403)
  t.match(message, /ownerReferences|nodeUID/)
  t.equal(reports.last(member.name), undefined, 'nothing has got through so far')
})

t.test('the same with a schema that lets everything pass: the controller names the field', async (t) => {
  await applyManifest(cluster, await looseCRD())
  const nonsense = async () => (await write(withField('bootID', 42), '&dryRun=All')).status
  await until('the schema lets everything pass', async () => (await nonsense()) < 300)
  for (const [path, values] of Object.entries(wrong)) {
    // What is written there is checked against the Node and the token by admission, not by the schema.
    if (path === 'nodeUID') continue
    for (const value of values) {
      // An empty list passes for an empty map, and both say nothing.
      if (Array.isArray(value) && value.length === 0) continue
      const { status, message, generation } = await write(withField(path, value))
      if (status >= 400) {
        t.fail(`${path} ${shown(value)} did not get through: ${status} ${message.slice(0, 200)}`)
        continue
      }
      const current = () => condition(reports.last(member.name), 'IdentityVerified')
      await reports.until(
        `the controller has judged ${path} ${shown(value)}`,
        () => current()?.observedGeneration === generation,
        5000,
      )
      t.match(current(), { status: 'False', reason: 'ReportInvalid' }, `${path} ${shown(value)}`)
      t.ok(names(current()?.message ?? '', `spec.${path}`), `${shown(value)}: ${current()?.message}`)
      t.notMatch(current()?.message, 'xxxx', 'it does not repeat what the stranger wrote')
    }
  }
  t.equal(nodes.of(member.name).length, 1, 'the Node was never touched')
  t.equal(controller.exit(), undefined, 'the controller lives')
})

t.test('then it tells the truth, and all is well', async (t) => {
  await applyManifest(cluster, await strictCRD())
  await until('the schema is back', async () => (await write(honest, '&dryRun=All')).status < 300)
  t.match(await write(honest), { status: 200 })
  await nodes.until('it is initialised', () => isInitialized(nodes.last(member.name)))
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
