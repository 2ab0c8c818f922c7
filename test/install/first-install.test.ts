/** A person who installs Rollcall for the first time types what the README says: these are its own commands, verbatim. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import * as v from 'valibot'
import { parse, stringify } from 'yaml'
import { root } from '../../build/programs.ts'
import { manifests } from '../../build/release/artifacts.ts'
import { parseOptions } from '../../build/release/main.ts'
import { serverBinary } from '../servers/build.ts'
import type { Cluster } from '../servers/cluster.ts'
import { policiesInForce } from '../servers/manifests.ts'
import { condition, isInitialized, level } from '../world/objects.ts'
import { builtProgram } from '../world/program.ts'
import { openOwnStage, REGION_CATEGORY, ZONE_CATEGORY } from '../world/stage.ts'

const readme = await readFile(join(root, 'README.md'), 'utf8')

/** The command in a page that begins so, up to the end of the code, which goes on where a quote is open, or to a comment. */
function command(begin: string, page = readme): string {
  const codes = page.split(/`|\n(?! {8})|(?: {2,}#)/)
  const found = codes.find((code) => code.trim().startsWith(begin))
  if (found === undefined) throw new Error(`there is no command "${begin}"`)
  return found.trim()
}

/** The six commands of the quick start: release, push, plan, Secret, apply, doctor. */
const [, quickStart = ''] = /\n## Quick start[\s\S]*?\n\n((?: {4}.*\n)+)/.exec(readme) ?? []
const [release = '', push = '', , secret = '', install = '', doctor = ''] = quickStart
  .split('\n')
  .map((line) => line.trim())

const { registry } = parseOptions(release.split(' -- ')[1]?.split(' ') ?? [])

const docs = (name: string) => readFile(join(root, 'docs', name), 'utf8')

const folder = await mkdtemp(join(tmpdir(), 'rollcall-first-install-'))
t.teardown(() => rm(folder, { recursive: true }))
await symlink(join(root, 'manifests'), join(folder, 'manifests'))
const bin = join(folder, 'bin')
await mkdir(bin)
for (const name of ['kubectl', 'helm'] as const) await symlink(await serverBinary(name), join(bin, name))
await mkdir(join(folder, 'dist/release'), { recursive: true })
for (const place of ['bin', 'dist'])
  await symlink(await builtProgram('rollcall-controller'), join(folder, place, 'rollcall-controller'))

/** What a command says on both outputs, and its exit code. */
function type(cluster: Cluster, line: string): Promise<{ code: number; output: string }> {
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, KUBECONFIG: cluster.adminKubeconfig }
  return new Promise((resolve) => {
    execFile('sh', ['-c', line], { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
  })
}

const apply = async (cluster: Cluster): Promise<void> => {
  const source = { version: '0.1.0', revision: 'none', created: '2026-01-01T00:00:00Z' }
  for await (const { name, content } of manifests(source, registry)) {
    await writeFile(join(folder, 'dist/release', name), content)
    if (install.endsWith(`/${name}`)) break
  }
  const { code, output } = await type(cluster, install)
  if (code !== 0) throw new Error(output)
  await policiesInForce(cluster)
}
const stage = await openOwnStage(t, { vms: 2 }, { apply })
const { cluster, vcsim, nodes } = stage
const member = await stage.member('worker-1')

const Example = v.looseObject({ stringData: v.object({ 'vsphere.conf': v.string() }) })
const Conf = v.looseObject({
  vcenter: v.object({ main: v.looseObject({}) }),
  labels: v.strictObject({ zone: v.literal(ZONE_CATEGORY), region: v.literal(REGION_CATEGORY) }),
})

await t.test('the example of a configuration is edited and applied', async (t) => {
  const file = 'manifests/config.example.yaml'
  t.match(readme, `\`${file}\``)
  const secret = v.parse(Example, parse(await readFile(join(root, file), 'utf8')))
  const conf = v.parse(Conf, parse(secret.stringData['vsphere.conf']))
  const { host: server, port, username: user, password, thumbprint } = vcsim
  Object.assign(conf.vcenter.main, { server, port, user, password, thumbprint, datacenters: ['DC0'] })
  const edited = stringify(conf)
  await writeFile(join(folder, 'vsphere.conf'), edited)
  const object = { ...secret, stringData: { 'vsphere.conf': edited } }
  await writeFile(join(folder, 'config.yaml'), stringify(object))
  t.match(await type(cluster, 'kubectl apply -f config.yaml'), { code: 0 })
})

await t.test('the quick start makes the same Secret, and doctor sees it', async (t) => {
  t.equal(quickStart.trim().split('\n').length, 6)
  t.ok(registry)
  t.ok(push.includes(` docker://${registry}/rollcall-$i:0.1.0;`), push)
  const conf = 'kubectl get secret rollcall-config -n kube-system -o yaml | grep vsphere.conf'
  const applied = await type(cluster, conf)
  t.match(await type(cluster, 'kubectl delete secret rollcall-config -n kube-system'), { code: 0 })
  t.match(await type(cluster, secret), { code: 0 })
  t.equal((await type(cluster, conf)).output.split('\n')[0], applied.output.split('\n')[0])
  const seen = await type(cluster, doctor.replace('FILE', cluster.adminKubeconfig))
  t.match(
    seen.output,
    /^ *ok +configuration +Secret kube-system\/rollcall-config\/vsphere\.conf has 1 vCenter/m,
  )
})

await t.test('the manifests by themselves, over those of the release', async (t) => {
  t.match(await type(cluster, command('kubectl apply -k manifests/')), { code: 0 })
})

await t.test('plan says what would change', async (t) => {
  const line = command('dist/rollcall-controller plan').replace('FILE', cluster.adminKubeconfig)
  t.match(await type(cluster, line), { code: 0, output: /^worker-1 .*\n {2}! NoReport: / })
})

await t.test('controller and agent run, and the Node is proven', async (t) => {
  await stage.controller({ configFile: join(folder, 'vsphere.conf') })
  await member.agent()
  await nodes.until('the Node is proven', () => level(nodes.last(member.name)) === 'proven')
  t.ok(isInitialized(nodes.last(member.name)))
})

await t.test('the commands that say why a Node is as it is', async (t) => {
  t.match(await type(cluster, command('rollcall-controller status')), {
    code: 0,
    output: /^1 Node: 1 initialized/m,
  })
  const explain = command('rollcall-controller explain').replace('NODE', member.name)
  t.match(await type(cluster, explain), { code: 0, output: /^Node worker-1 is initialized/ })
  t.match(await type(cluster, command('rollcall-controller doctor')), { code: 0, output: / 0 fail/ })
})

await t.test('without the right to write Nodes it says what it would do', async (t) => {
  const page = await docs('troubleshooting.md')
  t.match(await type(cluster, command('kubectl patch clusterrole', page)), { code: 0 })
  const other = await stage.member('worker-2')
  await other.agent()
  const initialized = () => condition(stage.reports.last(other.name), 'Initialized')
  await stage.reports.until('its write is refused', () => initialized()?.reason === 'NodePatchRefused')
  t.notOk(isInitialized(nodes.last(other.name)))
  t.match(await type(cluster, command('kubectl apply -f manifests/base/rbac.yaml', page)), { code: 0 })
  await nodes.until('it is initialized', () => isInitialized(nodes.last(other.name)))
})

await t.test('the overlay for an earlier Kubernetes makes the same objects', async (t) => {
  const [, overlay = ''] = / -k (manifests\/overlays\/before-1\.36\/)`/.exec(readme) ?? []
  const onTop = 'kubectl apply --server-side --force-conflicts --dry-run=server'
  t.match(await type(cluster, `${onTop} -k ${overlay}`), { code: 0 })
})

await t.test('Helm takes over what kubectl installed, if it is told to', async (t) => {
  const onTop = `${command('helm install')} --dry-run=server`
  t.match(await type(cluster, onTop), { code: 1, output: /cannot be imported into the current release/ })
  const [, option] = /`(--take-ownership)`/.exec(await docs('helm.md')) ?? []
  t.match(await type(cluster, `${onTop} ${option}`), { code: 0 })
})

await t.test('all of it goes again', async (t) => {
  const page = await docs('hand-over.md')
  t.match(await type(cluster, command('kubectl delete -k manifests', page)), { code: 0 })
  t.match(await type(cluster, command('kubectl label nodes --all', page)), { code: 0 })
  await nodes.until('no Node has a label of ours', () => level(nodes.last(member.name)) === undefined)
})

await t.test('Helm installs it, upgrades it, and takes it away but for the reports', async (t) => {
  const page = await docs('helm.md')
  const install = command('helm install')
  const upgrade = command('helm upgrade', page)
  const said = /^STATUS: deployed$.*^NOTES:$.*^The controller waits for the Secret rollcall-config/ms
  t.match(await type(cluster, install), { code: 0, output: said })
  await policiesInForce(cluster)
  await member.reportOnce()

  const replicas = "kubectl get deployments -n kube-system -o 'jsonpath={.items[*].spec.replicas}'"
  t.match(await type(cluster, replicas), { code: 0, output: /^2$/ })
  t.match(await type(cluster, `${upgrade} --set controller.replicas=1`), { code: 0, output: said })
  t.match(await type(cluster, upgrade), { code: 0, output: said })
  t.match(await type(cluster, replicas), { code: 0, output: /^1$/ }, 'what was set stays')

  const cpi = 'config.vcenter=vc.example.com,config.username=u,config.password=p,config.datacenter=dc'
  const trial = `${upgrade} --dry-run=server --set config.enabled=true,configSecret=made-by-helm,${cpi}`
  const warning = /^WARNING: without config\.thumbprint/m
  t.match(await type(cluster, trial), { code: 0, output: warning })
  const checked = await type(cluster, `${trial},config.thumbprint=${'AB:'.repeat(19)}CD`)
  t.match(checked, { code: 0, output: /^How each Node is known: kubectl get nr$/m })
  t.notMatch(checked.output, warning)

  const uninstall = command('helm uninstall rollcall', await docs('hand-over.md'))
  t.match(await type(cluster, uninstall), { code: 0, output: /resource policy:\n.*nodereports/ })
  const kinds = 'deployment,daemonset,serviceaccount,clusterrole,validatingadmissionpolicy'
  const left = await type(cluster, `kubectl get ${kinds} -A -o name | grep rollcall`)
  t.match(left, { code: 1, output: /^$/ })
  t.match(await type(cluster, 'kubectl get nr'), { code: 0, output: /^worker-1 /m })
  t.match(await type(cluster, install), { code: 0, output: said }, 'it is installed again beside its reports')
})
