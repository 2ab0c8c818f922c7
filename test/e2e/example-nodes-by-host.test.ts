/** The example of docs/api.md, with its Role's credential: which Nodes are on which host, and what it may not do. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { root } from '../../build/programs.ts'
import { token } from '../../manifests/testing/writers.ts'
import { applyManifest, type Manifest } from '../servers/manifests.ts'
import { startProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const folder = join(root, 'docs/examples/nodes-by-host')
const stage = await openStage(t, { hosts: 2, vms: 16 })
const { cluster, vcsim } = stage
stage.keepVMs(({ host }) => host === 'DC0_C0_H0')
await stage.controller()
const [first, second] = [await stage.initialized('worker-1'), await stage.initialized('worker-2')]
await stage.initialized('other')

for (const document of parseAllDocuments(await readFile(join(folder, 'role.yaml'), 'utf8')))
  await applyManifest(cluster, document.toJS() as Manifest)
const credential = await token(cluster, 'nodes-by-host')
const tokenFile = join(stage.dir, 'token')
await writeFile(tokenFile, credential)

t.test('the Nodes of each host, as their VMs move and go', async (t) => {
  const program = startProgram({
    command: process.execPath,
    args: [join(folder, 'nodes-by-host.ts')],
    env: {
      API_SERVER: cluster.url,
      TOKEN_FILE: tokenFile,
      NODE_EXTRA_CA_CERTS: cluster.caFile,
      NODES: '^worker-',
    },
  })
  t.teardown(() => program.stop())
  await program.says(/^! main\/DC0_C0_H0: worker-1, worker-2$/m)
  await vcsim.move({ vm: second.vm.ref, host: 'DC0_C0_H1' })
  await program.says(/^ {2}main\/DC0_C0_H1: worker-2$/m)
  await stage.remove(first.name)
  const { status } = await cluster.request('DELETE', `/apis/rollcall.dev/v1alpha1/nodereports/${first.name}`)
  t.equal(status, 200, 'here, as the garbage collector would')
  const third = await stage.initialized('worker-3')
  await vcsim.move({ vm: third.vm.ref, host: 'DC0_C0_H1' })
  await program.says(/^! main\/DC0_C0_H1: worker-2, worker-3$/m)
  const last = program.stdout.join('\n').trimEnd().split('\n\n').at(-1)
  t.equal(last, '! main/DC0_C0_H1: worker-2, worker-3', 'a Node that is gone is on no host')
  t.equal(program.output().includes('Error'), false)
})

t.test('its Role reads reports, and nothing else', async (t) => {
  const reports = '/apis/rollcall.dev/v1alpha1/nodereports'
  const merge = { contentType: 'application/merge-patch+json', token: credential }
  const as = { token: credential }
  t.match(await cluster.request('GET', reports, undefined, as), { status: 200 })
  t.match(await cluster.request('GET', '/api/v1/nodes', undefined, as), { status: 403 })
  t.match(await cluster.request('DELETE', `${reports}/worker-2`, undefined, as), { status: 403 })
  t.match(await cluster.request('PATCH', `${reports}/worker-2`, {}, merge), { status: 403 })
  t.match(await cluster.request('PATCH', `${reports}/worker-2/status`, {}, merge), { status: 403 })
})
