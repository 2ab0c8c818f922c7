import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
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
async function apply(folder: string, ...options: string[]): Promise<void> {
  const kubectl = await serverBinary('kubectl')
  const access = [`--kubeconfig=${cluster.adminKubeconfig}`, `--cache-dir=${cluster.dir}/kubectl`]
  await run(kubectl, [...access, 'apply', ...options, '-k', join(manifests, folder)])
}

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
  await apply('overlays/monitoring', '--server-side', '--force-conflicts')
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
