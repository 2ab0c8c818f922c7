import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { startCluster } from '../test/servers/cluster.ts'
import { applyManifest, applyManifests, manifestFiles, readManifests } from '../test/servers/manifests.ts'

const run = promisify(execFile)
const systemd = await run('systemd-analyze', ['--version']).then(
  () => true,
  () => false,
)

const cluster = await startCluster()
t.teardown(() => cluster.stop())

await t.test('the Kustomize base has every manifest but the example', async (t) => {
  const files = (await readdir(import.meta.dirname)).filter((file) => file.endsWith('.yaml'))
  const others = ['kustomization.yaml', 'config.example.yaml']
  t.strictSame((await manifestFiles()).sort(), files.filter((file) => !others.includes(file)).sort())
})

await t.test('the API server takes every object, and knows every field', async (t) => {
  await applyManifests(cluster)
  for (const file of [...(await manifestFiles()), 'config.example.yaml']) {
    for (const object of await readManifests(file)) {
      await t.resolves(applyManifest(cluster, object, { dryRun: true }), `${file}: ${object.kind}`)
    }
  }
})

await t.test('each account has the rights it needs, and no other', async (t) => {
  const agent = 'system:serviceaccount:kube-system:rollcall-agent'
  const controller = 'system:serviceaccount:kube-system:rollcall-controller'
  const reports = { group: 'rollcall.dev', resource: 'nodereports' }
  const lease = {
    group: 'coordination.k8s.io',
    resource: 'leases',
    namespace: 'kube-system',
    name: 'rollcall-controller',
  }
  const cases: [string, Record<string, string>, string, boolean][] = [
    [agent, reports, 'create patch', true],
    [agent, reports, 'get list watch update delete deletecollection', false],
    [agent, { ...reports, subresource: 'status' }, 'get patch update', false],
    [agent, { resource: 'nodes' }, 'get list watch patch update', false],
    [agent, { resource: 'secrets', namespace: 'kube-system' }, 'get list watch', false],
    [controller, reports, 'list watch create', true],
    [controller, reports, 'get patch update delete deletecollection', false],
    [controller, { ...reports, subresource: 'status' }, 'patch', true],
    [controller, { resource: 'nodes' }, 'list watch patch', true],
    [controller, { resource: 'nodes' }, 'get create update delete', false],
    [controller, { resource: 'nodes', subresource: 'status' }, 'patch', true],
    [controller, { resource: 'nodes', subresource: 'proxy' }, 'get create', false],
    [controller, { resource: 'events', namespace: 'default' }, 'create patch', true],
    [controller, { resource: 'events', namespace: 'kube-system' }, 'create patch', false],
    [controller, lease, 'get update create', true],
    [controller, { ...lease, name: 'other' }, 'get update', false],
    [controller, { ...lease, namespace: 'default' }, 'get update create', false],
    [controller, { resource: 'secrets', namespace: 'kube-system' }, 'get list watch', false],
    [controller, { resource: 'pods', namespace: 'kube-system' }, 'get create', false],
  ]
  for (const [user, attributes, verbs, expected] of cases) {
    for (const verb of verbs.split(' ')) {
      const { body } = await cluster.request<{ status: { allowed: boolean } }>(
        'POST',
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: { user, groups: ['system:authenticated'], resourceAttributes: { ...attributes, verb } },
        },
      )
      const what = [attributes.resource, attributes.subresource].filter(Boolean).join('/')
      t.equal(body.status.allowed, expected, `${user} ${verb} ${what} ${attributes.namespace ?? ''}`)
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
