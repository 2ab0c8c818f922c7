// The other half of test/attacks/joining.test.ts: which labels draw the controller's Pods.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { serverBinary } from '../test/servers/build.ts'
import { type Manifest, manifestFiles, readManifests } from '../test/servers/manifests.ts'

const kubectl = await serverBinary('kubectl')

interface Deployment extends Manifest {
  spec: {
    template: {
      spec: {
        nodeName?: string
        affinity: {
          nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: unknown } }
        }
      }
    }
  }
}

/** What `kubectl apply -k` would apply. */
async function render(folder: string): Promise<Manifest[]> {
  const { stdout } = await promisify(execFile)(kubectl, ['kustomize', resolve(import.meta.dirname, folder)])
  return parseAllDocuments(stdout).map((document) => document.toJS())
}

const names = (objects: readonly Manifest[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`).sort()

function requiredOf(objects: readonly Manifest[]) {
  const deployment = objects.find(({ kind }) => kind === 'Deployment') as Deployment
  const { spec } = deployment.spec.template
  return spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
}

const labelExists = (key: string) => [{ matchExpressions: [{ key, operator: 'Exists' }] }]
const controlPlane = labelExists('node-role.kubernetes.io/control-plane')
const byAdministrator = labelExists('rollcall.node-restriction.kubernetes.io/controller')
const objects = (await Promise.all((await manifestFiles()).map(readManifests))).flat()
const restoring = (name: string) => name.startsWith('MutatingAdmissionPolicy')

t.test('applied as a whole, the controller goes to control-plane Nodes alone', async (t) => {
  const rendered = await render('.')
  t.strictSame(names(rendered), names(objects))
  // More terms would be alternatives, and a Node that a kubelet registers would need to fit but one.
  t.strictSame(requiredOf(rendered), controlPlane)
  const zone = { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' }
  t.match(
    rendered.find(({ kind }) => kind === 'Deployment'),
    { spec: { template: { spec: { topologySpreadConstraints: [zone] } } } },
    'over the zones where there are any',
  )
})

t.test('before 1.36 all is the same, without the kinds that are not served there', async (t) => {
  const rendered = await render('overlays/before-1.36')
  t.ok(names(objects).some(restoring))
  t.strictSame(
    names(rendered),
    names(objects).filter((name) => !restoring(name)),
  )
  t.strictSame(requiredOf(rendered), controlPlane)
})

t.test('without the DaemonSet all else stays', async (t) => {
  t.strictSame(
    names(await render('overlays/no-daemonset')),
    names(objects).filter((name) => !name.startsWith('DaemonSet')),
  )
})

t.test('with one control-plane Node there is one replica', async (t) => {
  const rendered = await render('overlays/one-control-plane-node')
  t.strictSame(names(rendered), names(objects))
  t.strictSame(requiredOf(rendered), controlPlane)
  t.match(
    rendered.find(({ kind }) => kind === 'Deployment'),
    { spec: { replicas: 1 } },
  )
})

/** The bindings that the component `secure-port` adds, and the roles of Kubernetes' own that they are to. */
const OF_SECURE_PORT = {
  'rollcall-controller-auth-delegator': 'system:auth-delegator',
  'rollcall-controller-authentication-reader': 'extension-apiserver-authentication-reader',
}

t.test('the components combine, as docs/manifests.md has it', async (t) => {
  const docs = await readFile(join(import.meta.dirname, '../docs/manifests.md'), 'utf8')
  const [, example = ''] = /^```yaml\n(.*?)^```$/ms.exec(docs) ?? []
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-overlay-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await symlink(join(import.meta.dirname, '..'), join(folder, 'rollcall'))
  await mkdir(join(folder, 'mine'))
  await writeFile(join(folder, 'mine/kustomization.yaml'), example)
  const rendered = await render(join(folder, 'mine'))
  t.strictSame(
    names(rendered).filter((name) => !Object.keys(OF_SECURE_PORT).some((added) => name.endsWith(added))),
    names(objects).filter((name) => !restoring(name)),
  )
  for (const [name, role] of Object.entries(OF_SECURE_PORT))
    t.match(
      rendered.find(({ metadata }) => metadata.name === name),
      { roleRef: { name: role }, subjects: [{ name: 'rollcall-controller' }] },
    )
  t.strictSame(requiredOf(rendered), byAdministrator)
  const deployment = rendered.find(({ kind }) => kind === 'Deployment')
  t.match(deployment, {
    spec: {
      replicas: 1,
      template: { spec: { containers: [{ image: 'registry.example.com/rollcall-controller:0.1.0' }] } },
    },
  })
})

t.test('with a hosted control plane it goes where an administrator says', async (t) => {
  const rendered = await render('overlays/hosted-control-plane')
  t.strictSame(names(rendered), names(objects))
  t.strictSame(requiredOf(rendered), byAdministrator)
})
