// What docs/platforms.md has people apply is what the manifests need; what docs/uninstall.md has them type is in docs/hand-over.md.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import * as v from 'valibot'
import { parse, parseAllDocuments } from 'yaml'
import { load } from '../controller/config/testing/load.ts'
import { serverBinary } from '../test/servers/build.ts'
import { podTemplate, readManifests } from '../test/servers/manifests.ts'

const page = await readFile(join(import.meta.dirname, '../docs/platforms.md'), 'utf8')

/** The YAML in the section of a platform, or one with this text in it. */
function yamlOf(platform: string, text = ''): string {
  const [, section = ''] = new RegExp(`^## ${platform}\n(.*?)(?=^## |$(?![^]))`, 'ms').exec(page) ?? []
  const found = [...section.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml = '']) => yaml)
  const yaml = found.find((each) => each.includes(text))
  if (yaml === undefined) throw new Error(`there is no YAML with "${text}" under ${platform}`)
  return yaml
}

const Pod = v.looseObject({
  serviceAccountName: v.string(),
  hostNetwork: v.optional(v.boolean()),
  tolerations: v.array(v.looseObject({ key: v.optional(v.string()), effect: v.optional(v.string()) })),
  securityContext: v.looseObject({ seccompProfile: v.strictObject({ type: v.string() }) }),
  containers: v.array(
    v.looseObject({
      securityContext: v.looseObject({
        allowPrivilegeEscalation: v.boolean(),
        readOnlyRootFilesystem: v.boolean(),
        capabilities: v.strictObject({ drop: v.array(v.string()) }),
      }),
    }),
  ),
  volumes: v.array(v.looseObject({ name: v.string() })),
})
const podOf = async (file: string) => v.parse(Pod, (await podTemplate(file)).spec)
const pods = [await podOf('controller.yaml'), await podOf('agent.yaml')]

t.test('a worker that waits for Cluster API may run both, whatever else it waits for', async (t) => {
  for (const { tolerations, serviceAccountName } of pods)
    for (const key of [
      'node.cluster.x-k8s.io/uninitialized',
      'node.cloudprovider.kubernetes.io/uninitialized',
    ])
      t.ok(
        tolerations.some((each) => (each.key === undefined || each.key === key) && each.effect === undefined),
        `${serviceAccountName}: ${key}`,
      )
})

t.test('the security context constraints allow both Pods, and little else', async (t) => {
  const scc = parse(yamlOf('OpenShift', 'SecurityContextConstraints'))
  const accounts = (await readManifests('rbac.yaml')).filter(({ kind }) => kind === 'ServiceAccount')
  t.strictSame(
    scc.users.toSorted(),
    accounts.map(({ metadata }) => `system:serviceaccount:${metadata.namespace}:${metadata.name}`).sort(),
  )
  t.strictSame(
    new Set(scc.volumes),
    new Set([
      'configMap',
      ...pods.flatMap(({ volumes }) =>
        volumes.map((volume) => Object.keys(volume).find((key) => key !== 'name')),
      ),
    ]),
  )
  for (const { hostNetwork, securityContext, containers } of pods) {
    t.equal(hostNetwork, scc.allowHostNetwork)
    t.equal(securityContext.seccompProfile.type, 'RuntimeDefault')
    for (const container of containers)
      t.match(container.securityContext, {
        allowPrivilegeEscalation: scc.allowPrivilegeEscalation,
        readOnlyRootFilesystem: scc.readOnlyRootFilesystem,
        capabilities: { drop: scc.requiredDropCapabilities },
      })
  }
  t.strictSame(scc.seccompProfiles, ['runtime/default'])
  for (const refused of [
    'allowHostDirVolumePlugin',
    'allowHostIPC',
    'allowHostPID',
    'allowPrivilegedContainer',
  ])
    t.equal(scc[refused], false, refused)
})

t.test('the CRD is not pruned, and stays as it is otherwise', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-platforms-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await symlink(import.meta.dirname, join(folder, 'manifests'))
  await writeFile(join(folder, 'kustomization.yaml'), `resources: [manifests]\n${yamlOf('GitOps')}`)
  const { stdout } = await promisify(execFile)(await serverBinary('kubectl'), ['kustomize', folder])
  const crd = parseAllDocuments(stdout)
    .map((document) => document.toJS())
    .find(({ kind }) => kind === 'CustomResourceDefinition')
  const [plain] = (await readManifests('crd.yaml')).filter(({ kind }) => kind === 'CustomResourceDefinition')
  const { annotations, ...metadata } = crd.metadata
  t.match(annotations, {
    'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
    'kustomize.toolkit.fluxcd.io/prune': 'disabled',
  })
  t.strictSame({ ...crd, metadata }, plain)
})

t.test('Windows Nodes are exempt by a label that no kubelet can set', async (t) => {
  const vCenter = 'vcenter: {vc: {server: vc.example.com, user: u, password: p, datacenters: [dc]}}\n'
  const { config, warnings } = await load(vCenter + yamlOf('Windows nodes'))
  t.strictSame(warnings, [])
  const [, label = ''] = /kubectl label node NODE (\S+no-agent=\S+)/.exec(page) ?? []
  t.match(config.identity, { require: 'reported' })
  t.ok(yamlOf('Windows nodes').includes(label))
})

t.test('the rest is YAML', async (t) => {
  t.match(parse(yamlOf('OpenShift', 'platform:')), {
    platform: { external: { cloudControllerManager: 'External' } },
  })
  t.match(parse(yamlOf('Talos')), { cluster: { externalCloudProvider: { enabled: true } } })
})

t.test('an uninstallation removes what a hand-over back to the CPI removes, which a test runs', async (t) => {
  const of = (name: string) => readFile(join(import.meta.dirname, `../docs/${name}.md`), 'utf8')
  const [uninstall, handOver] = [await of('uninstall'), await of('hand-over')]
  const commands = [...uninstall.matchAll(/^ {4,}(kubectl .*)$/gm)].map(([, command = '']) => command)
  t.ok(commands.length > 5)
  for (const command of commands) t.ok(handOver.includes(command), command)
})
