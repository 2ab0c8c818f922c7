/** What explain says to an operator on a laptop, with the rights that docs/explain.md names, by the real binary. */
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { root } from '../../build/programs.ts'
import type { Explanation } from '../../controller/inspect/explain/explain-node.ts'
import type { ClusterStatus } from '../../controller/inspect/status/print-status.ts'
import { until } from '../fixtures/until.ts'
import { serverBinary } from '../servers/build.ts'
import { applyManifest, type Manifest } from '../servers/manifests.ts'
import { CLOSED_PORT } from '../servers/ports.ts'
import { deletionPending, verified } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { builtProgram, runProgram, type Said, startProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { clusters: 3, vms: 12 })
const { cluster, vcsim } = stage
// The third cluster has no zone.
stage.keepVMs((vm) => vm.cluster !== 'DC0_C2')
// In earnest it takes minutes to prove an absence: here, so that it is still to be proven when it is looked at.
const { configFile } = await stage.controller({
  lifecycle: { leaderAge: '1s' },
  topology: { required: 'true' },
})
const [, lost, ...held] = await verified(stage, 'worker-1', 'worker-2', 'worker-3', 'worker-4', 'worker-5')
await stage.member('worker-6')

const clusterRole = await roleOfTheDocs()
const kubeconfig = await kubeconfigOf('ann', clusterRole)
// What the docs name in addition for --config.
const asker = await kubeconfigOf('kim', {
  ...clusterRole,
  metadata: { name: 'rollcall-look' },
  rules: [
    ...clusterRole.rules,
    { apiGroups: ['apps'], resources: ['daemonsets', 'deployments'], verbs: ['list'] },
    { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['list'] },
  ],
})
const stranger = await cluster.kubeconfig({ user: 'eve', groups: [] })

t.test('all Nodes at a glance', async (t) => {
  const { code, text, said } = await told('status', `--kubeconfig=${kubeconfig}`)
  t.match({ code, said }, { code: 0, said: '' })
  t.match(text, /^main +DC0_C\d +DC0_C\d_H\d +worker-1 +proven +zone-[ab] +on +initialized +-$/m)
  t.match(text, /^- +- +- +worker-6 +- +- +- +waiting +NoReport$/m)
  t.match(text, /^6 Nodes: 1 waiting, 5 initialized;/m)
  t.match(text, /^agents: 5 of version \d+\.\d+\.\d+$/m)
  t.match(text, /^controller-0_\w+ leads, and holds the Lease kube-system\/rollcall-controller$/m)
  const json: ClusterStatus = JSON.parse(
    (await told('status', `--kubeconfig=${kubeconfig}`, '--output=json')).text,
  )
  t.equal(json.nodes.length, 6)
  t.match(
    json.nodes.find(({ name }) => name === 'worker-6'),
    { state: 'waiting', pending: { reason: 'NoReport' } },
  )
})

t.test('only some of them, and all that is known', async (t) => {
  const status = (...args: string[]) => told('status', `--kubeconfig=${kubeconfig}`, ...args)
  const rows = ({ text }: Said) => text.match(/worker-\d/g)
  t.same(rows(await status('node/worker-3', 'worker-1')), ['worker-1', 'worker-3'])
  const waiting = await status('--not-ready')
  t.same(rows(waiting), ['worker-6'])
  t.match(waiting.text, /^1 of 6 Nodes: 1 waiting;/m)
  t.equal(rows(await status('--vcenter=main'))?.length, 5)
  t.match(await status('--vcenter=mian'), {
    code: 0,
    text: /^none of 6 Nodes fits\n.*\n! .* mian, only in main$/m,
  })
  const near = await status('worker-1', 'worker-7')
  t.match(near, { code: 1, text: /^! there is no Node worker-7: did you mean worker-\d\?$/m })
  t.same(rows(near)?.[0], 'worker-1')
  t.match(await status('-o', 'wide'), { text: /PENDING +READY +AGENT +DATACENTER +VM +REGION +MESSAGE$/m })
  t.match(await status('-o=wide', 'worker-6'), { text: /NoReport +\w+ +- +- +- +- +there is no NodeReport/m })
  t.match(JSON.parse((await status('-ojson', 'worker-1')).text), { of: 6, nodes: [{ name: 'worker-1' }] })
  t.match(await told('status', '-h'), { code: 0, text: /^usage: rollcall-controller status \[NODE\.\.\.\]/ })
})

t.test('what cannot be read is said, with the reason', async (t) => {
  const refused = await told('status', `--kubeconfig=${stranger}`)
  t.match(refused, { code: 1, said: /^rollcall-controller: Nodes cannot be read: .*403 .*docs\/explain.md/ })
  const away = join(stage.dir, 'away')
  const nowhere = `https://127.0.0.1:${CLOSED_PORT}`
  await writeFile(away, (await readFile(kubeconfig, 'utf8')).replace(cluster.url, nowhere), { mode: 0o600 })
  t.match(await told('status', `--kubeconfig=${away}`), { code: 1, said: /ECONNREFUSED.*kubectl get nodes/ })
})

t.test('a verified Node, from its report to the decision', async (t) => {
  const { code, text } = await explained('worker-1')
  t.equal(code, 0)
  t.match(text, /^Node worker-1 is initialized as VM "DC0_\S+" of vCenter main, identity proven$/m)
  t.match(text, /^ {2}ok {2}report +of agent \S+, \d+s ago: BIOS UUID \S+, MACs \S+$/m)
  t.match(text, /^ {2}ok {2}identity +Proven: /m)
  t.match(text, /^ +last seen as VM .* in vCenter main, datacenter DC0, cluster DC0_C\d, host \S+$/m)
  t.match(text, /^controller-0_\w+ leads/m)
})

t.test('all Nodes as a page, with what doctor finds, and what stops it', async (t) => {
  const { code, text, said } = await told('status', '--output=html', `--kubeconfig=${kubeconfig}`)
  t.match({ code, said }, { code: 0, said: '' })
  t.match(text, /^<!doctype html>.*<title>6 Nodes in vSphere<.*<\/html>$/s)
  for (const name of ['worker-1', 'worker-5', 'worker-6']) t.match(text, `<bdi>${name}</bdi>`)
  t.match(text, /Needs attention: 1 Node<.*waiting: NoReport<.*<bdi>worker-6</s)
  t.match(text, /<b>ok: API server<\/b> answers, and knows you as ann</)
  const refused = await told('status', '--output=html', `--kubeconfig=${stranger}`)
  t.match(refused, { code: 1, text: '', said: /Nodes cannot be read: .*403/ })
})

t.test('one without a report, and a name that no Node has', async (t) => {
  const waiting = await explained('worker-6')
  t.match(waiting, { code: 0, text: /^Node worker-6 waits for a cloud provider: there is no NodeReport/ })
  t.match(waiting.text, /^ {2}no {2}report +there is no NodeReport named worker-6$/m)
  const wrong = await explained('wroker-1')
  t.match(wrong, { code: 1, said: 'rollcall-controller: there is no Node wroker-1: did you mean worker-1?' })
  const vm = stage.reports.last('worker-1')?.status?.vm?.name ?? ''
  t.match(await explained(vm), { code: 1, said: `VM "${vm}" is Node worker-1` })
})

t.test('what may not be read is said, and all else is told', async (t) => {
  const refused = await told('explain', 'worker-1', `--kubeconfig=${stranger}`)
  t.match(refused, { code: 1, text: '', said: /Nodes cannot be read: .*403 .*docs\/explain.md/ })
  const path = await kubeconfigOf('bob', {
    ...clusterRole,
    metadata: { name: 'rollcall-sparing' },
    rules: clusterRole.rules.slice(0, 1),
  })
  const some = await told('explain', 'worker-1', `--kubeconfig=${path}`)
  t.equal(some.code, 1)
  t.match(some.text, /^Node worker-1 cannot be explained: NodeReports cannot be read$/m)
  t.match(some.text, /^! NodeReports cannot be read: .*403/m)
  t.match(some.text, /^! the Lease of its kubelet cannot be read: .*403/m)
})

t.test('as a plugin of kubectl, with names completed', async (t) => {
  const bin = join(stage.dir, 'bin')
  await mkdir(bin)
  await symlink(await builtProgram('rollcall-controller'), join(bin, 'kubectl-rollcall'))
  const { text: script } = await told('completion', 'kubectl')
  await writeFile(join(bin, 'kubectl_complete-rollcall'), `${script}\n`, { mode: 0o755 })
  const kubectl = async (...args: string[]) => {
    const program = startProgram({
      command: await serverBinary('kubectl'),
      args,
      env: { PATH: `${bin}:/usr/bin:/bin`, KUBECONFIG: kubeconfig, HOME: stage.dir },
    })
    return { code: (await program.ended).code, text: program.stdout.join('\n'), said: program.output() }
  }
  t.match(await kubectl('rollcall', 'explain', 'worker-1'), {
    code: 0,
    text: /^Node worker-1 is initialized/,
  })
  t.match(await kubectl('rollcall', 'status'), { code: 0, text: /^6 Nodes: /m })
  t.match(await kubectl('__complete', 'rollcall', 'sta'), { text: /^status\n:4/ })
  // On a busy machine the names may come too late, and a shell is given none.
  await until('names are completed', async () =>
    /^worker-1\nworker-2\n/.test((await kubectl('__complete', 'rollcall', 'explain', 'worker-')).text),
  )
  t.match(await kubectl('__complete', 'rollcall', 'plan', '--config', ''), { text: /^:0/ })
  const nowhere = ['__complete', 'explain', '--kubeconfig', '/nowhere', 'w']
  t.match(await told(...nowhere), { code: 0, text: ':4', said: '' }, 'errors are not in the way')
})

t.test('status follows what happens', async (t) => {
  const command = await builtProgram('rollcall-controller')
  const watch = startProgram({ command, args: ['status', '--watch', `--kubeconfig=${kubeconfig}`] })
  t.teardown(() => watch.stop())
  await watch.says(/worker-2 +proven +\S+ +on +initialized/)
  await vcsim.hide(lost.vm.ref)
  await loseHeartbeats(cluster, lost.name)
  await deletionPending(stage, lost.name, { status: 'True', reason: 'NotConfirmed' })
  await watch.says(/worker-2 +proven +\S+ +- +VM gone +NotConfirmed/)
  t.match(await watch.stop(), { code: 0 })
  t.notOk(watch.output().includes('\u001b'), 'no terminal, no control characters')
})

t.test('a deletion in progress: what is proven, and what is missing', async (t) => {
  const { code, text } = await explained(lost.name)
  t.equal(code, 0)
  t.match(text, /^Node worker-2 is kept for now, although its VM is gone: NotConfirmed$/m)
  t.match(
    text,
    /^ {2}no {2}deletion +NotConfirmed: VM "\S+" .* is gone, and the Node is kept for now: 3 such answers/m,
  )
  t.match(text, /^ {2}ok {2}the same search finds another VM that is there$/m)
  t.match(text, /^ {2}ok {2}the Node is not Ready$/m)
  t.match(text, /kubectl annotate node worker-2 rollcall.dev\/deletion=hold/)
  // Of an account that may write nothing.
  const asked = await told(
    'explain',
    lost.name,
    `--config=${configFile}`,
    `--kubeconfig=${asker}`,
    '--output=json',
  )
  t.equal(asked.code, 0, asked.said)
  const { deletion = [] }: Explanation = JSON.parse(asked.text)
  const state = (name: string) => deletion.find((item) => item.name === name)?.state
  t.equal(deletion.length, 22)
  for (const name of ['PrivilegesProven', 'BIOSUUIDNowhere', 'NotHeld', 'NotDryRun'])
    t.equal(state(name), 'ok', name)
  t.equal(state('Confirmed'), 'no')
})

t.test('a vCenter that cannot be asked takes nothing from what the cluster says', async (t) => {
  const wrong = join(stage.dir, 'wrong.conf')
  await writeFile(wrong, (await readFile(configFile, 'utf8')).replace(/password: .*/, 'password: other'))
  const { code, text } = await told('explain', lost.name, `--config=${wrong}`, `--kubeconfig=${asker}`)
  t.equal(code, 1)
  t.match(text, /^Node worker-2 is kept for now/)
  t.match(text, /^! vCenter main: InvalidLogin: .*; this was one attempt, which counts toward locking/m)
  t.notMatch(text, /will be retried/, 'nobody does')
})

t.test('a Node that the brake holds', async (t) => {
  await vcsim.hide(...held.map(({ vm }) => vm.ref))
  await loseHeartbeats(cluster, ...held.map(({ name }) => name))
  const [one] = held
  await deletionPending(stage, one?.name ?? '', { status: 'True', reason: 'BrakeEngaged' })
  const { text } = await explained(one?.name ?? '')
  t.match(text, /is kept for now, although its VM is gone: BrakeEngaged$/m)
  t.match(text, /^ {2}no {2}not too many VMs of its vCenter vanished at once \(/m)
  t.ok(stage.reports.last(one?.name ?? '')?.status?.deletionUnmet?.includes('BrakeReleased'))
  const { deletion = [] }: Explanation = JSON.parse((await explained(one?.name ?? '', '--output=json')).text)
  t.match(
    deletion.find(({ name }) => name === 'BrakeReleased'),
    { state: 'no', why: /as the leader says above$/ },
  )
  t.match(
    deletion.find(({ name }) => name === 'ConfirmedJustNow'),
    { state: 'unknown' },
    'it comes and goes, and is not listed beside others',
  )
  const { text: table } = await told('status', `--kubeconfig=${kubeconfig}`)
  t.match(table, /^the brake on deletions is engaged for \d Nodes of vCenter main$/m)
})

t.test('a Node that waits for a tag', async (t) => {
  const vm = (await vcsim.vms()).find((each) => each.cluster === 'DC0_C2')
  if (vm === undefined) throw new Error('there is no VM in the third cluster')
  const waiting = await stage.reported('worker-7', { vm })
  await stage.says(waiting.name, 'TopologyResolved', { reason: 'TagMissing' })
  const says =
    /^ {2}no {2}topology +TagMissing: no tag of category "k8s-zone" \(zone\) on .*DC0_C2.*; topology\.required is true, so the Node stays uninitialized until that is fixed in vCenter .*; or set topology\.required to false/m
  for (const args of [[`--kubeconfig=${kubeconfig}`], [`--kubeconfig=${asker}`, `--config=${configFile}`]]) {
    const { code, text } = await told('explain', waiting.name, ...args)
    t.equal(code, 0)
    t.match(text, /^Node worker-7 waits for a cloud provider: TagMissing$/m)
    t.match(text, says)
    t.match(text, /^ {2}- what to do about TagMissing: docs\/reasons\.md$/m)
    t.notMatch(text, /would (set|change) (labels|providerID|taints)/)
  }
})

t.test('a Node that is left to a CPI', async (t) => {
  const now = new Date().toISOString().replace('Z', '000Z')
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'kube-system', name: 'cloud-controller-manager' },
    spec: {
      holderIdentity: 'cpi',
      leaseDurationSeconds: 600,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    },
  }
  await applyManifest(cluster, lease)
  t.teardown(() =>
    cluster.request(
      'DELETE',
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager',
    ),
  )
  const { text } = await until('the leader has seen it', async () => {
    const found = await explained(lost.name)
    return found.text.includes('CPIRuns') && found
  })
  t.match(text, /^Node worker-2 is kept, as it is unknown whether its VM is gone: CPIRuns$/m)
  t.match(text, /^ {2}\? {3}deletion +CPIRuns: Nodes are left to the unknown holder of the Lease/m)
})

async function explained(node: string, ...args: string[]) {
  const { code, text, said } = await told('explain', node, `--kubeconfig=${kubeconfig}`, ...args)
  return { code, text: `${text}\n`, said }
}

async function told(...args: string[]): Promise<Said> {
  const program = await runProgram('rollcall-controller', ...args)
  t.notMatch(program.output, /^ +at |node:internal/m, 'no stack trace')
  return program
}

interface ClusterRole extends Manifest {
  readonly rules: readonly object[]
}

async function roleOfTheDocs(): Promise<ClusterRole> {
  const [, role = ''] =
    /```yaml\n([\s\S]*?)```/.exec(await readFile(join(root, 'docs/explain.md'), 'utf8')) ?? []
  return parse(role)
}

/** Gives a user this role; resolves with a kubeconfig of the user. */
async function kubeconfigOf(user: string, role: ClusterRole): Promise<string> {
  const apiGroup = 'rbac.authorization.k8s.io'
  const { name } = role.metadata
  const binding = {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'Group', name: `of-${name}` }],
  }
  for (const object of [role, binding]) await applyManifest(cluster, object)
  return cluster.kubeconfig({ user, groups: [`of-${name}`] })
}
