/** What an operator is told on a laptop, with the rights that docs/explain.md names, by the real binary. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { binary } from '../../build/binaries.ts'
import { root } from '../../build/programs.ts'
import type { ClusterStatus } from '../../controller/status/print-status.ts'
import { startProgram } from '../fixtures/program.ts'
import { loseHeartbeats } from '../fixtures/readiness.ts'
import { applyManifest } from '../servers/manifests.ts'
import { freePort } from '../servers/ports.ts'
import { deletionPending, verified } from './deletion.ts'
import { openStage } from './stage.ts'

const stage = await openStage(t, { vms: 8 })
const { cluster, vcsim } = stage
// In earnest it takes minutes to prove an absence: here, so that it is still to be proven when it is looked at.
await stage.controller({ lifecycle: { leaderAge: '1s' } })
const [, lost] = await verified(stage, 'worker-1', 'worker-2', 'worker-3', 'worker-4', 'worker-5')
if (lost === undefined) throw new Error('there are five')
await stage.member('worker-6')

const [, role = ''] =
  /```yaml\n([\s\S]*?)```/.exec(await readFile(join(root, 'docs/explain.md'), 'utf8')) ?? []
const clusterRole = parse(role)
const binding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'operators' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole.metadata.name },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'operators' }],
}
for (const object of [clusterRole, binding]) await applyManifest(cluster, object)
const kubeconfig = await cluster.kubeconfig({ user: 'ann', groups: ['operators'] })
const stranger = await cluster.kubeconfig({ user: 'eve', groups: [] })

const command = await binary('rollcall-controller')
const start = (...args: string[]) => startProgram({ command, args })

async function told(...args: string[]) {
  const program = start(...args)
  const { code } = await program.ended
  const text = program.stdout.join('\n')
  t.notMatch(program.output(), /^ +at |node:internal/m, 'no stack trace')
  return { code, text, said: program.stderr.join('\n') }
}

t.test('all Nodes at a glance', async (t) => {
  const { code, text, said } = await told('status', `--kubeconfig=${kubeconfig}`)
  t.match({ code, said }, { code: 0, said: '' })
  t.match(text, /^main +DC0_C\d +DC0_C\d_H\d +worker-1 +proven +zone-[ab] +on +initialised +-$/m)
  t.match(text, /^- +- +- +worker-6 +- +- +- +waiting +NoReport$/m)
  t.match(text, /^6 Nodes: 1 waiting, 5 initialised;/m)
  t.match(text, /^controller-0_\w+ leads by the Lease kube-system\/rollcall-controller$/m)
  const json: ClusterStatus = JSON.parse(
    (await told('status', `--kubeconfig=${kubeconfig}`, '--output=json')).text,
  )
  t.equal(json.nodes.length, 6)
  t.match(
    json.nodes.find(({ name }) => name === 'worker-6'),
    { state: 'waiting', pending: { reason: 'NoReport' } },
  )
})

t.test('what cannot be read is said, with the reason', async (t) => {
  const refused = await told('status', `--kubeconfig=${stranger}`)
  t.match(refused, { code: 1, said: /^rollcall-controller: Nodes cannot be read: .*403 .*docs\/explain.md/ })
  const away = join(stage.dir, 'away')
  const nowhere = `https://127.0.0.1:${await freePort()}`
  await writeFile(away, (await readFile(kubeconfig, 'utf8')).replace(cluster.url, nowhere), { mode: 0o600 })
  t.match(await told('status', `--kubeconfig=${away}`), { code: 1, said: /ECONNREFUSED.*kubectl get nodes/ })
})

t.test('status follows what happens', async (t) => {
  const watch = start('status', '--watch', `--kubeconfig=${kubeconfig}`)
  t.teardown(() => watch.stop())
  await watch.says(/worker-2 +proven +\S+ +on +initialised/)
  await vcsim.hide(lost.vm.ref)
  await loseHeartbeats(cluster, lost.name)
  await deletionPending(stage, lost.name, { status: 'True', reason: 'NotConfirmed' })
  await watch.says(/worker-2 +proven +\S+ +- +VM gone +NotConfirmed/)
  t.match(await watch.stop(), { code: 0 })
  t.notOk(watch.output().includes('\u001b'), 'no terminal, no control characters')
})
