// A finalizer keeps a Node whose deletion is decided: a kubelet may set one, and so do cluster managers without malice.
import t from 'tap'
import { QUICK, verified, watched } from '../world/deletion.ts'
import { kubeletIdentity, loseHeartbeats } from '../world/kubelet.ts'
import { address, condition, isInitialized } from '../world/objects.ts'
import { builtProgram, startProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 12 })
const { cluster, nodes, reports, vcsim } = stage
await stage.controller({
  lifecycle: { ...QUICK, maxAbsentMinimum: 1, maxAbsentShare: '0%' },
})
const [ours, theirs, running, silent] = await verified(stage, 'ours', 'theirs', 'running', 'silent', 'canary')
await watched(stage)
const FINALIZERS = ['controller.cattle.io/cluster-provisioner-controller', 'example.com/hangs']

const isKept = (name: string) => nodes.last(name)?.metadata.deletionTimestamp !== undefined
const saysThatItHangs = (name: string, of: string) => {
  const said = condition(reports.last(name), 'AddressesResolved')
  return said?.reason === 'AddressOfAnotherNode' && said.message.includes(`kubectl patch node ${of} `)
    ? said.message
    : undefined
}

t.test('a Node that Rollcall deleted: its VM is proven gone, so its address is free', async (t) => {
  await keep(ours.name)
  await vcsim.hide(ours.vm.ref)
  await loseHeartbeats(cluster, ours.name)
  await nodes.until('it hangs in its deletion', () => isKept(ours.name))
  const next = await successorOf(ours)
  await nodes.until('the next one is initialized', () => isInitialized(nodes.last(next.name)))
  t.equal(address(nodes.last(next.name), 'InternalIP'), ours.address)
  t.ok(isKept(ours.name), 'the old Node is still there')
})

t.test(
  'a Node that a person deleted while its machine ran: its address is free once that is gone',
  async (t) => {
    await keep(theirs.name)
    await stage.remove(theirs.name)
    await nodes.until('it hangs in its deletion', () => isKept(theirs.name))
    const next = await successorOf(theirs)
    await reports.until('who waits is told why', () => saysThatItHangs(next.name, theirs.name) !== undefined)
    const said = saysThatItHangs(next.name, theirs.name) ?? ''
    for (const name of FINALIZERS) t.match(said, name)
    t.notMatch(said, /delete the other Node/)
    await vcsim.hide(theirs.vm.ref)
    await loseHeartbeats(cluster, theirs.name)
    await nodes.until('the proof wakes it', () => isInitialized(nodes.last(next.name)))
    t.ok(isKept(theirs.name))
  },
)

t.test('one whose VM exists keeps its address, though it is silent', async (t) => {
  await keep(running.name)
  await stage.remove(running.name)
  await loseHeartbeats(cluster, running.name)
  const next = await successorOf(running)
  await reports.until('it has to wait', () => saysThatItHangs(next.name, running.name) !== undefined)
  t.notOk(isInitialized(nodes.last(next.name)))
})

t.test('explain names the finalizers', async (t) => {
  const command = await builtProgram('rollcall-controller')
  const kubeconfig = await cluster.kubeconfig({ user: 'admin', groups: ['system:masters'] })
  const program = startProgram({ command, args: ['explain', theirs.name, `--kubeconfig=${kubeconfig}`] })
  t.match(await program.ended, { code: 0 })
  const said = program.stdout.join('\n')
  t.match(said, /^Node theirs is being deleted$/m)
  for (const name of FINALIZERS) t.match(said, name)
  t.match(said, `kubectl patch node ${theirs.name} --type=merge`)
})

t.test('those that hang hold no other deletion', async (t) => {
  await vcsim.hide(silent.vm.ref)
  await loseHeartbeats(cluster, silent.name)
  await nodes.until('it is deleted, alone in its wave', () => nodes.last(silent.name) === undefined)
  t.ok(isKept(ours.name) && isKept(theirs.name))
})

/** As its kubelet may. */
async function keep(name: string): Promise<void> {
  const kubelet = await cluster.as(kubeletIdentity(name))
  const { status } = await kubelet.request(
    'PATCH',
    `/api/v1/nodes/${name}`,
    { metadata: { finalizers: FINALIZERS } },
    { contentType: 'application/merge-patch+json' },
  )
  await kubelet.close()
  if (status !== 200) throw new Error(`no finalizers for Node ${name}: ${status}`)
}

/** A new machine with the address of another, whose agent has said so once. */
async function successorOf(of: { readonly name: string; readonly address: string }) {
  const member = await stage.reported(`next-of-${of.name}`, { addresses: [`${of.address}/24`] })
  return member
}
