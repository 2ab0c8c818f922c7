import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import t from 'tap'
import {
  AGENT_FIELD_MANAGER,
  MAX_ADDRESSES,
  MAX_INTERFACES,
  MAX_UNREADABLE,
  parseSpec,
} from '../agent/shared/node-report.ts'
import { withdrawOwnReport } from '../test/servers/manifests.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import { completeSpec, completeStatus, sampleReport } from './testing/sample-report.ts'
import { nodeReportSchema } from './testing/schema.ts'
import { wrongValues } from './testing/wrong-values.ts'

interface Answer {
  message?: string
  details?: { causes?: { field: string; message: string }[] }
  spec?: unknown
  status?: unknown
  rows?: { cells: unknown[] }[]
  columnDefinitions?: { name: string; priority: number }[]
}

const collection = '/apis/rollcall.dev/v1alpha1/nodereports'
const mergePatch = { contentType: 'application/merge-patch+json' }
const nodeUID = completeSpec.nodeUID

const schema = await nodeReportSchema()
const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
// The schema alone: who may write is for the policies, which have tests of their own.
await withdrawOwnReport(cluster)

const dryRun = (spec: unknown) =>
  cluster.request<Answer>('POST', `${collection}?dryRun=All`, {
    ...sampleReport('node-b', nodeUID),
    spec,
  })

await t.test('a report and a status with every field are taken whole', async (t) => {
  const created = await cluster.request<Answer>('POST', collection, sampleReport('node-a', nodeUID))
  t.equal(created.status, 201, String(created.body.message))
  t.strictSame(created.body.spec, completeSpec)

  const patch = { status: completeStatus }
  const { status, body } = await cluster.request<Answer>(
    'PATCH',
    `${collection}/node-a/status`,
    patch,
    mergePatch,
  )
  t.equal(status, 200, String(body.message))
  t.strictSame(body.status, completeStatus)
})

await t.test('the least of reports is taken', async (t) => {
  // docs/compatibility.md promises older agents that nothing more is ever required in v1alpha1.
  const { nodeUID, agentVersion, claim } = completeSpec
  const tools = { guestinfoReadable: false, guestinfoWritable: false }
  const { status, body } = await dryRun({ nodeUID, agentVersion, machine: {}, interfaces: [], tools, claim })
  t.equal(status, 201, String(body.message))
  t.match(await dryRun(undefined), { status: 422 }, 'and not one that says nothing')
})

await t.test('an agent that can no longer read what it reported before is not shut out', async (t) => {
  const apply = (spec: object) =>
    cluster.request<Answer>(
      'PATCH',
      `${collection}/blinded?fieldManager=${AGENT_FIELD_MANAGER}&force=true`,
      { ...sampleReport('blinded', completeSpec.nodeUID), spec },
      { contentType: 'application/apply-patch+yaml' },
    )
  t.match(await apply(completeSpec), { status: 201 })
  const { cloudInit: _, ...rest } = completeSpec
  const { status, body } = await apply({ ...rest, machine: {}, interfaces: [] })
  t.equal(status, 200, String(body.message))
  t.match(body.spec, { machine: { serialUUID: undefined }, interfaces: [] })
  await cluster.request('DELETE', `${collection}/blinded`)
})

await t.test('every field of the spec, wrong in turn, is refused by name', async (t) => {
  const cases = wrongValues('spec', schema.spec, completeSpec)
  t.ok(cases.length >= 100, `${cases.length} cases`)
  for (const { field, how, value } of cases) {
    const { status, body } = await dryRun(value)
    t.ok(status === 422 && names(body, field), `${field}: ${how}`, { status, message: String(body.message) })
  }
})

await t.test('every field of the status, wrong in turn, is refused by name', async (t) => {
  for (const { field, how, value } of wrongValues('status', schema.status, completeStatus)) {
    if (field === 'status' && how === 'another type') continue
    // A merge patch would leave in place what is left out.
    const report = { ...(await stored()), status: value }
    const { status, body } = await cluster.request<Answer>(
      'PUT',
      `${collection}/node-a/status?dryRun=All`,
      report,
    )
    t.ok(status === 422 && names(body, field), `${field}: ${how}`, { status, message: String(body.message) })
  }
})

await t.test('texts of other scripts and the neighbors of what is refused are taken', async (t) => {
  const hostname = ' ~\u00a0é日\u2027\u202f\u2065\u206a𝄞'
  const { status, body } = await dryRun({ ...completeSpec, hostname })
  t.equal(status, 201, String(body.message))
  t.match(parseSpec({ ...completeSpec, hostname }), { ok: true })
})

await t.test('addresses are checked as such', async (t) => {
  const cases: [string, boolean][] = [
    ['10.0.0.5', true],
    ['fe80::1', true],
    ['2001:db8::1', true],
    ['fe80::1%ens192', false],
    ['010.0.0.5', false],
    ['10.0.0.5/24', false],
    ['localhost', false],
    ['', false],
  ]
  for (const [address, good] of cases) {
    const [nic] = completeSpec.interfaces
    const { status } = await dryRun({
      ...completeSpec,
      interfaces: [{ ...nic, addresses: [{ address, prefixLength: 24 }] }],
    })
    t.equal(status, good ? 201 : 422, JSON.stringify(address))
  }
})

await t.test('no report can be large', async (t) => {
  const [nic] = completeSpec.interfaces
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ...nic, name: `eth${index}` }))
  t.equal((await dryRun({ ...completeSpec, interfaces: many })).status, 422, '10,000 interfaces')
  t.equal((await dryRun({ ...completeSpec, hostname: 'x'.repeat(1 << 20) })).status, 422, 'a name of 1 MiB')

  const { status, body } = await dryRun({ ...completeSpec, extra: { '': 'x'.repeat(100_000) } })
  t.equal(status, 201)
  t.notMatch(JSON.stringify(body.spec), 'extra', 'what the schema does not know is dropped')

  const addresses = Array.from({ length: MAX_ADDRESSES }, () => ({
    ...completeSpec.interfaces[0]?.addresses[1],
    address: 'fd00:1111:2222:3333:4444:5555:6666:7777',
  }))
  const text = (length: number) => 'x'.repeat(length)
  const largest = await dryRun({
    ...completeSpec,
    interfaces: Array.from({ length: MAX_INTERFACES }, (_, index) => ({
      ...nic,
      name: `eth${index}`,
      addresses,
    })),
    unreadable: Array.from({ length: MAX_UNREADABLE }, () => ({
      fact: text(64),
      reason: `X${text(63)}`,
      message: text(256),
    })),
  })
  t.equal(largest.status, 201, String(largest.body.message))
  const bytes = JSON.stringify(largest.body.spec).length
  t.ok(bytes < 50_000, `the largest that fits: ${bytes} bytes`)
})

await t.test('a write to the report leaves the status alone, and the other way round', async (t) => {
  const path = `${collection}/node-a`
  const report = await cluster.request<Answer>(
    'PATCH',
    path,
    { status: { instanceType: 'mine' } },
    mergePatch,
  )
  t.strictSame(report.body.status, completeStatus)
  const patch = { spec: { hostname: 'mine' } }
  const status = await cluster.request<Answer>('PATCH', `${path}/status`, patch, mergePatch)
  t.strictSame(status.body.spec, completeSpec)
})

await t.test('a person sees the essentials at a glance', async (t) => {
  const body = await asTable(collection)
  const columns = body.columnDefinitions?.filter(({ priority }) => priority === 0).map(({ name }) => name)
  t.strictSame(columns, 'Name VM Zone Type Internal-IP Level Initialized Reason Age'.split(' '))
  t.strictSame(body.rows?.[0]?.cells.slice(0, 8), [
    'node-a',
    'node-a',
    'zone-a',
    'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
    '10.0.0.5',
    'proven',
    'True',
    'AsExpected',
  ])
  const deletion = body.columnDefinitions?.findIndex(({ name }) => name === 'Deletion') ?? -1
  t.equal(body.columnDefinitions?.[deletion]?.priority, 1)
  t.equal(body.rows?.[0]?.cells[deletion], 'AsExpected', 'why a Node is kept, to those who ask for more')
  const page = await readFile(join(import.meta.dirname, '../docs/hand-over.md'), 'utf8')
  const [, wide] = /`NotBound`[^#]*?`kubectl get nr( -o wide)?`/.exec(page) ?? []
  t.equal(wide, ' -o wide', 'the command by which docs/hand-over.md finds such Nodes shows that column')
  const short = await cluster.request<{ resources: { name: string; shortNames?: string[] }[] }>(
    'GET',
    '/apis/rollcall.dev/v1alpha1',
  )
  t.strictSame(short.body.resources.find(({ name }) => name === 'nodereports')?.shortNames, ['nr'])
})

/** What `kubectl get` asks for. */
async function asTable(path: string): Promise<Answer> {
  const { certificateFile, keyFile } = await cluster.clientCertificate({
    user: 'admin',
    groups: ['system:masters'],
  })
  const [ca, cert, key] = await Promise.all(
    [cluster.caFile, certificateFile, keyFile].map((file) => readFile(file)),
  )
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const request = get(`${cluster.url}${path}`, { ca, cert, key, headers, agent: false })
  const [response] = await once(request, 'response')
  return (await json(response)) as Answer
}

async function stored(): Promise<object> {
  return (await cluster.request<object>('GET', `${collection}/node-a`)).body
}

/** The field itself, or for one too many of a list its last item. */
function names({ message = '', details }: Answer, field: string): boolean {
  const fields = details?.causes?.map((cause) => cause.field) ?? []
  return (
    fields.some((name) => name === field || name.replace(/\[\d+\]$/, '') === field) || message.includes(field)
  )
}
