/** What `kubectl explain` says of a report's fields, and the way from v1alpha1 to v1beta1 that docs/api.md promises. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { AGENT_FIELD_MANAGER } from '../agent/shared/node-report.ts'
import { fieldsOf } from '../controller/inspect/doctor/cluster.ts'
import { until } from '../test/fixtures/until.ts'
import { serverBinary } from '../test/servers/build.ts'
import { applyManifest, type Manifest, readManifests, withdrawOwnReport } from '../test/servers/manifests.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import { completeSpec, completeStatus, sampleReport } from './testing/sample-report.ts'
import { nodeReportSchema, type StructuralSchema } from './testing/schema.ts'

const VERSIONS = ['v1alpha1', 'v1beta1'] as const
type Version = (typeof VERSIONS)[number]

interface Report {
  message?: string
  apiVersion: string
  metadata: { managedFields: { manager: string; subresource?: string }[] }
  spec: unknown
  status: unknown
}

const { spec, status } = await nodeReportSchema()
const cluster = await borrowCluster()
t.teardown(() => cluster.stop())

const pathOf = (version: Version, name = '') => `/apis/rollcall.dev/${version}/nodereports/${name}`
const read = async (version: Version, name: string) =>
  (await cluster.request<Report>('GET', pathOf(version, name))).body

/** As an agent of a release writes that knows this version. */
const apply = (version: Version, name: string, change: object = {}) =>
  cluster.request<Report>(
    'PATCH',
    `${pathOf(version, name)}?fieldManager=${AGENT_FIELD_MANAGER}&force=true`,
    {
      ...sampleReport(name, completeSpec.nodeUID),
      apiVersion: `rollcall.dev/${version}`,
      spec: { ...completeSpec, ...change },
    },
    { contentType: 'application/apply-patch+yaml' },
  )

await t.test('kubectl explain has a text for every field', async (t) => {
  const kubectl = await serverBinary('kubectl')
  const explain = async (...args: string[]) => {
    const access = [`--kubeconfig=${cluster.adminKubeconfig}`, `--cache-dir=${cluster.dir}/kubectl`]
    return (await promisify(execFile)(kubectl, [...access, 'explain', ...args])).stdout
  }
  const fields = fieldsOf({ properties: { spec, status } }) ?? []
  t.ok(fields.length > 90, `${fields.length} fields`)
  t.strictSame(fieldsIn(await explain('nodereports', '--recursive')).sort(), fields.toSorted())
  // Below each of these paths all fields are shown with their texts.
  for (const path of ['', ...objectsIn('spec', spec), ...objectsIn('status', status)]) {
    const said = await explain(`nodereports${path && `.${path}`}`)
    t.notMatch(said, /<no description>|<empty>/, path)
  }
})

/** The paths in the tree that `kubectl explain --recursive` prints, of spec and status. */
function fieldsIn(text: string): string[] {
  const above: string[] = []
  const paths: string[] = []
  for (const [, indent = '', name = ''] of text.matchAll(/^( {2,})(\w+)\t/gm)) {
    above.splice(indent.length / 2 - 1, above.length, name)
    paths.push(above.join('.'))
  }
  return paths.filter((path) => /^(spec|status)\./.test(path))
}

/** The paths of all objects, lists of them included. */
function objectsIn(path: string, schema: StructuralSchema): string[] {
  const { properties } = schema.items ?? schema
  if (properties === undefined) return []
  const below = Object.entries(properties).flatMap(([name, inner]) => objectsIn(`${path}.${name}`, inner))
  return [path, ...below]
}

await t.test('v1beta1 is not served, until a later release serves both', async (t) => {
  t.equal(await served('v1beta1'), false)
  await applyVersions({ v1alpha1: 'stored', v1beta1: 'served' })
})

await t.test('the policy for reports holds in both versions', async (t) => {
  for (const version of VERSIONS)
    t.match(
      await apply(version, 'forged'),
      { status: 403, body: { message: /own-report\.rollcall\.dev/ } },
      version,
    )
})

await t.test('what is written in one version is read in the other, whole', async (t) => {
  // From here on any administrator is an agent.
  await withdrawOwnReport(cluster)
  for (const [written, other] of [VERSIONS, VERSIONS.toReversed()] as [Version, Version][]) {
    const name = `by-${written}`
    t.match(await apply(written, name), { status: 201 }, written)
    const answer = await cluster.request<Report>(
      'PATCH',
      `${pathOf(written, name)}/status`,
      { status: completeStatus },
      { contentType: 'application/merge-patch+json' },
    )
    t.equal(answer.status, 200, String(answer.body.message))
    const report = await read(other, name)
    t.equal(report.apiVersion, `rollcall.dev/${other}`)
    t.strictSame([report.spec, report.status], [completeSpec, completeStatus])
  }
})

await t.test('an agent of another version takes over the report of its predecessor', async (t) => {
  for (const [first, next] of [VERSIONS, VERSIONS.toReversed()] as [Version, Version][]) {
    const name = `from-${first}`
    t.match(await apply(first, name), { status: 201 })
    const { status, body } = await apply(next, name, { hostname: 'renamed', unreadable: [] })
    t.equal(status, 200, String(body.message))
    t.strictSame((await read(first, name)).spec, { ...completeSpec, hostname: 'renamed', unreadable: [] })
    const managers = body.metadata.managedFields.filter(({ manager }) => manager === AGENT_FIELD_MANAGER)
    t.equal(managers.length, 1, 'the API server takes both for one writer')
  }
})

await t.test('forth to a release that stores v1beta1, and back, every report is kept', async (t) => {
  const all = async (version: Version) => {
    for (const name of ['by-v1alpha1', 'by-v1beta1', 'later'])
      t.strictSame((await read(version, name)).spec, completeSpec, `${name} in ${version}`)
  }
  await applyVersions({ v1alpha1: 'served', v1beta1: 'stored' })
  t.match(await apply('v1alpha1', 'later'), { status: 201 }, 'an agent of this release')
  await all('v1beta1')
  await applyVersions({ v1alpha1: 'stored', v1beta1: 'known' })
  await all('v1alpha1')
  await applyVersions({ v1alpha1: 'known', v1beta1: 'stored' })
  await all('v1beta1')
})

/** Whether the API server answers for a version. */
async function served(version: Version): Promise<boolean> {
  return (await cluster.request('GET', pathOf(version))).status === 200
}

/** Applies the CRD with its versions like this, and waits until the API server acts by it. */
async function applyVersions(wanted: Readonly<Record<Version, 'known' | 'served' | 'stored'>>) {
  const [crd] = await readManifests('crd.yaml')
  if (crd === undefined) throw new Error('crd.yaml is empty')
  const { versions } = (crd as Manifest & { spec: { versions: { name: Version }[] } }).spec
  for (const version of versions) {
    const is = wanted[version.name]
    Object.assign(version, { served: is !== 'known', storage: is === 'stored' })
  }
  await applyManifest(cluster, crd)
  for (const version of VERSIONS)
    await until(
      `${version} is ${wanted[version]}`,
      async () => (await served(version)) === (wanted[version] !== 'known'),
    )
}
