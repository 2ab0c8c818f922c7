import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { applyManifest, applyManifests, manifestFiles, readManifests } from '../test/servers/manifests.ts'
import { startCluster } from '../test/servers/start-cluster.ts'

const run = promisify(execFile)
const systemd = await run('systemd-analyze', ['--version']).then(
  () => true,
  () => false,
)

const cluster = await startCluster()
t.teardown(() => cluster.stop())

await t.test('the Kustomize base has every manifest', async (t) => {
  const files = await readdir(`${import.meta.dirname}/base`)
  t.strictSame((await manifestFiles()).sort(), files.filter((file) => file !== 'kustomization.yaml').sort())
})

await t.test('the API server takes every object, and knows every field', async (t) => {
  await applyManifests(cluster)
  for (const file of [...(await manifestFiles()), '../config.example.yaml', '../credentials.example.yaml']) {
    for (const object of await readManifests(file)) {
      await t.resolves(applyManifest(cluster, object, { dryRun: true }), `${file}: ${object.kind}`)
    }
  }
})

await t.test('the unit follows the kubelet, by whose start a deleted Node comes back', async (t) => {
  const unit = await readFile(`${import.meta.dirname}/rollcall-agent.service`, 'utf8')
  for (const key of ['After', 'PartOf', 'WantedBy'])
    t.match(unit, new RegExp(`^${key}=.*\\bkubelet\\.service\\b`, 'm'), key)
})

await t.test(
  'systemd takes the unit',
  { skip: !systemd && 'no systemd-analyze on this machine' },
  async (t) => {
    const unit = `${import.meta.dirname}/rollcall-agent.service`
    const verified = await run('systemd-analyze', ['verify', unit]).catch((error) => error)
    const complaints = String(verified.stderr)
      .split('\n')
      .filter((line) => line.includes('rollcall-agent.service') && !line.includes('is not executable'))
    t.strictSame(complaints, [])
  },
)
