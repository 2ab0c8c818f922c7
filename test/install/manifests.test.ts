import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import * as v from 'valibot'
import { parseAllDocuments } from 'yaml'
import { sampleReport } from '../../manifests/testing/sample-report.ts'
import { applyReport, registerNode } from '../../manifests/testing/writers.ts'
import { serverBinary } from '../servers/build.ts'
import {
  applyManifest,
  applyManifests,
  manifestFiles,
  policiesInForce,
  readManifests,
} from '../servers/manifests.ts'
import { startCluster } from '../servers/start-cluster.ts'

const manifests = join(import.meta.dirname, '../../manifests')

/** Beside `manifests/base/`, where the names of manifests begin. */
const OPERATOR = ['prometheusrules', 'servicemonitors'].map(
  (plural) => `../../test/servers/prometheus-operator/monitoring.coreos.com_${plural}.yaml`,
)

const run = promisify(execFile)
const systemd = await run('systemd-analyze', ['--version']).then(
  () => true,
  () => false,
)

const cluster = await startCluster()
t.teardown(() => cluster.stop())

await t.test('the Kustomize base has every manifest', async (t) => {
  const files = await readdir(`${manifests}/base`)
  t.strictSame((await manifestFiles()).sort(), files.filter((file) => file !== 'kustomization.yaml').sort())
})

/** kubectl refuses what the API server does not know. */
async function apply(path: string, ...options: string[]): Promise<void> {
  const kubectl = await serverBinary('kubectl')
  const access = [`--kubeconfig=${cluster.adminKubeconfig}`, `--cache-dir=${cluster.dir}/kubectl`]
  const how = path.endsWith('.yaml') ? '-f' : '-k'
  await run(kubectl, [...access, 'apply', ...options, how, join(manifests, path)])
}

/** What `kubectl apply` has just made, applied again by the server. */
async function takenOver(path: string): Promise<void> {
  await apply(path)
  await apply(path, '--server-side')
}

await t.test('server-side apply takes over from apply, without a conflict', async (t) => {
  for (const path of ['overlays/secure-port', 'config.example.yaml', 'credentials.example.yaml'])
    await t.resolves(takenOver(path), path)
})

await t.test('the API server takes every object, and knows every field', async (t) => {
  await apply('.')
  await policiesInForce(cluster)
  for (const file of ['../config.example.yaml', '../credentials.example.yaml'])
    for (const object of await readManifests(file))
      await t.resolves(applyManifest(cluster, object, { dryRun: true }), `${file}: ${object.kind}`)
  // The kinds of the Prometheus operator, which the overlay "monitoring" takes for granted.
  await applyManifests(cluster, OPERATOR)
  const overlays = await readdir(join(manifests, 'overlays'))
  t.ok(overlays.includes('monitoring'))
  for (const overlay of overlays)
    await t.resolves(
      apply(`overlays/${overlay}`, '--server-side', '--force-conflicts', '--dry-run=server'),
      overlay,
    )
})

await t.test('the kinds of the Prometheus operator are known to the last field', async (t) => {
  await t.resolves(takenOver('overlays/monitoring'), 'server-side apply takes over from apply')
  for (const kind of ['servicemonitors/rollcall-controller', 'prometheusrules/rollcall']) {
    const path = `/apis/monitoring.coreos.com/v1/namespaces/kube-system/${kind}`
    t.match(await cluster.request('GET', path), { status: 200 }, kind)
  }
  for (const [file, right, wrong] of [
    ['scrape', 'jobLabel:', 'joblabel:'],
    ['rules', 'annotations:', 'annotation:'],
  ] as const) {
    const text = await readFile(join(manifests, `components/monitoring/${file}.yaml`), 'utf8')
    const [object] = parseAllDocuments(text.replaceAll(right, wrong))
      .map((document) => document.toJS())
      .filter(({ apiVersion }) => apiVersion === 'monitoring.coreos.com/v1')
    await t.rejects(applyManifest(cluster, object), { message: /field not declared in schema/ }, wrong)
  }
})

const Ended = v.object({ stdout: v.string(), code: v.optional(v.number()) })
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const POLICY = `${ADMISSION}/validatingadmissionpolicies/own-report.rollcall.dev`
const BINDING = `${ADMISSION}/validatingadmissionpolicybindings/own-report.rollcall.dev`

await t.test('kubectl diff shows nothing, and where a policy or a binding is narrowed', async (t) => {
  t.strictSame(await diff(), { code: 0, shown: '' })
  // Each value of its own, so that its line tells which of them is shown.
  const ofTeam = (team: string) => ({ matchLabels: { team } })
  const rules = (resource: string) => [
    { apiGroups: ['*'], apiVersions: ['*'], resources: [resource], operations: ['*'] },
  ]
  const matchConstraints = {
    objectSelector: ofTeam('a'),
    matchPolicy: 'Exact',
    excludeResourceRules: rules('excluded-a'),
  }
  const matchResources = {
    objectSelector: ofTeam('b'),
    namespaceSelector: ofTeam('c'),
    resourceRules: rules('included-b'),
    excludeResourceRules: rules('excluded-b'),
  }
  for (const [path, spec] of [
    [POLICY, { failurePolicy: 'Ignore', matchConstraints }],
    [BINDING, { validationActions: ['Audit'], matchResources }],
  ] as const) {
    const { status } = await cluster.request(
      'PATCH',
      path,
      { spec },
      { contentType: 'application/merge-patch+json' },
    )
    t.equal(status, 200, path)
  }
  const { code, shown } = await diff()
  t.equal(code, 1)
  for (const line of [
    /^- {2}failurePolicy: Ignore$/m,
    /^-.*team: a$/m,
    /^-.*matchPolicy: Exact$/m,
    /^-.*- excluded-a$/m,
    /^\+ {2}- Deny$/m,
    /^-.*team: b$/m,
    /^-.*team: c$/m,
    /^-.*- included-b$/m,
    /^-.*- excluded-b$/m,
  ])
    t.match(shown, line)
  await apply('.', '--server-side', '--force-conflicts')
  t.strictSame(await diff(), { code: 0, shown: '' }, 'all is mended')
})

/** What the docs' `kubectl diff` shows, and its exit code. */
async function diff(): Promise<{ code: number; shown: string }> {
  const docs = await readFile(join(manifests, '../docs/manifests.md'), 'utf8')
  const [, options = ''] = /^ {4}kubectl diff (.*) -k manifests\/$/m.exec(docs) ?? []
  const access = [`--kubeconfig=${cluster.adminKubeconfig}`, `--cache-dir=${cluster.dir}/kubectl`]
  const args = [...access, 'diff', ...options.split(' ').filter(Boolean), '-k', manifests]
  const ended = await run(await serverBinary('kubectl'), args).catch((error: unknown) => error)
  const { stdout, code = 0 } = v.parse(Ended, ended)
  return { code, shown: stdout }
}

await t.test('an upgrade, as the docs have it, keeps the reports and finds nothing in its way', async (t) => {
  const docs = await readFile(join(manifests, '../docs/manifests.md'), 'utf8')
  const [, options = ''] = /^ {4}kubectl apply (.*) -k manifests\/$/m.exec(docs) ?? []
  const { request } = await cluster.as({ user: 'system:node:node-a', groups: ['system:nodes'] })
  const uid = await registerNode(request, 'node-a')
  t.match(await applyReport(request, sampleReport('node-a', uid)), { status: 201 })
  const report = async () =>
    (await cluster.request('GET', '/apis/rollcall.dev/v1alpha1/nodereports/node-a')).body
  const before = await report()
  await apply('.', ...options.split(' '))
  t.strictSame(await report(), before)
  t.match(await applyReport(request, sampleReport('node-a', uid)), { status: 200 })
})

await t.test('the unit follows the kubelet, by whose start a deleted Node comes back', async (t) => {
  const unit = await readFile(`${manifests}/rollcall-agent.service`, 'utf8')
  for (const key of ['After', 'PartOf', 'WantedBy'])
    t.match(unit, new RegExp(`^${key}=.*\\bkubelet\\.service\\b`, 'm'), key)
})

await t.test(
  'systemd takes the unit',
  { skip: !systemd && 'no systemd-analyze on this machine' },
  async (t) => {
    const unit = `${manifests}/rollcall-agent.service`
    const verified = await run('systemd-analyze', ['verify', unit]).catch((error) => error)
    const complaints = String(verified.stderr)
      .split('\n')
      .filter((line) => line.includes('rollcall-agent.service') && !line.includes('is not executable'))
    t.strictSame(complaints, [])
  },
)
