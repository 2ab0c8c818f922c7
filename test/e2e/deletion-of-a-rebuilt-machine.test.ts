// A VM is destroyed and cloned again under its host name, and the Node object stays (Terraform, kubespray, Talos): the
// kubelet of the new VM takes the Node over, which was verified to be the old one. Later that VM goes, too.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimVM } from '../servers/control.ts'
import {
  deleted,
  deletionPending,
  eventsOfReason,
  QUICK,
  settled,
  verified,
  watched,
} from '../world/deletion.ts'
import { loseHeartbeats, registerNode, takeNodeOver } from '../world/kubelet.ts'
import type { Member } from '../world/member.ts'
import { condition, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 8 })
const { cluster, events, nodes, reports, vcsim } = stage
const lifecycle = { ...QUICK, absentFor: '2s', maxAbsentShare: '100%' } as const
let second: Awaited<ReturnType<typeof stage.controller>>
const first = await stage.controller({ identity: 'before', lifecycle })
const [both, agentless, unseen, template, macs, mended] = await verified(
  stage,
  'both',
  'agentless',
  'unseen',
  'template',
  'macs',
  'mended',
  'canary',
)
await watched(stage)

/** Destroys a member's VM and creates it again; the kubelet of the new one takes over the Node. */
async function rebuild(member: Member): Promise<VcsimVM> {
  const vm = await vcsim.recreate(member.vm.ref)
  await takeNodeOver(cluster, member.name, vm.uuid)
  return vm
}

/** Waits until vCenter pushes what becomes of a VM that was just seen: some seconds later. */
async function watchedToo(): Promise<void> {
  const changes = async () => (await vcsim.calls()).operations.ModifyListView ?? 0
  const before = await changes()
  await until('vCenter watches one more', async () => (await changes()) > before)
}

async function told(name: string): Promise<void> {
  await reports.until(
    'it is told',
    () => condition(reports.last(name), 'IdentityVerified')?.reason === 'ProviderIDOfAnotherVM',
  )
}

t.test('it is said in one condition, with what mends it', async (t) => {
  const vm = await rebuild(mended)
  await mended.reportAs({ vm })
  await told(mended.name)
  t.match(condition(reports.last(mended.name), 'IdentityVerified'), {
    status: 'False',
    message: /kubectl delete node mended, then restart the kubelet/,
  })
  t.not(condition(reports.last(mended.name), 'DeletionPending')?.status, 'True', 'and nothing else is wanted')
  t.equal(level(nodes.last(mended.name)), undefined)

  await stage.remove(mended.name)
  await nodes.until('it is gone', () => nodes.last(mended.name) === undefined)
  await registerNode(cluster, { name: mended.name, biosUUID: vm.uuid })
  await mended.reportOnce()
  await settled(stage, mended.name)
  t.equal(nodes.last(mended.name)?.spec.providerID, `vsphere://${vm.uuid}`, 'that has mended it')
})

t.test('a new machine that is silent keeps the Node, and when it goes as well, the Node goes', async (t) => {
  const vm = await rebuild(both)
  await both.reportAs({ vm })
  await told(both.name)
  await loseHeartbeats(cluster, both.name)
  await reports.until('vCenter is followed', () => reports.last(both.name)?.status?.namedVM?.moref === vm.ref)
  await vcsim.setState({ vm: vm.ref, connectionState: 'inaccessible', powerState: 'poweredOff', uuid: '' })
  await first.stop()
  second = await stage.controller({ identity: 'after', lifecycle })
  const { message } = await deletionPending(stage, both.name, { reason: 'VMExists' })
  t.ok(message.includes(vm.ref), 'it is said which machine is there')
  t.ok(nodes.last(both.name), 'no search finds it in an outage of its datastore, and it is there')
  await vcsim.setState({ vm: vm.ref, connectionState: 'connected', powerState: 'poweredOn', uuid: vm.uuid })
  await vcsim.hide(vm.ref)
  await deleted(stage, both.name)
  await events.until('it is told', () => eventsOfReason(stage, both.name, 'NodeDeleted').length > 0)
  t.match(eventsOfReason(stage, both.name, 'NodeDeleted'), [{ message: new RegExp(both.vm.ref) }])
})

t.test('so it is where no agent speaks for the new machine', async (t) => {
  const vm = await rebuild(agentless)
  await reports.until(
    'it was seen under the UUID that its kubelet names',
    () => reports.last(agentless.name)?.status?.namedVM?.moref === vm.ref,
  )
  await watchedToo()
  await loseHeartbeats(cluster, agentless.name)
  t.ok(nodes.last(agentless.name), 'its machine is there')
  await vcsim.hide(vm.ref)
  await deleted(stage, agentless.name)
})

t.test('a new machine that no vCenter has ever shown keeps it: it may run elsewhere', async (t) => {
  await vcsim.recreate(unseen.vm.ref).then(({ ref }) => vcsim.hide(ref))
  await takeNodeOver(cluster, unseen.name, '42000000-0000-4000-8000-000000000001')
  await loseHeartbeats(cluster, unseen.name)
  await deletionPending(stage, unseen.name, {
    status: 'True',
    reason: 'NotBound',
    message: /00000042-0000-0040-8000-000000000001.*kubectl delete node unseen/,
  })
  t.ok(nodes.last(unseen.name))
})

t.test('after it was a template', async (t) => {
  await vcsim.govc('vm.power', '-off', template.vm.name)
  await vcsim.govc('vm.markastemplate', template.vm.name)
  // The simulator pushes nothing of that, and a new controller reads everything again.
  await second.stop()
  await stage.controller({ identity: 'third', lifecycle })
  await template.reportOnce()
  await reports.until(
    'it is told',
    () => condition(reports.last(template.name), 'VMFound')?.reason === 'VMIsTemplate',
  )
  await loseHeartbeats(cluster, template.name)
  t.ok(nodes.last(template.name), 'a template is there')
  await vcsim.hide(template.vm.ref)
  await deleted(stage, template.name)
})

t.test('after its report had come from elsewhere', async (t) => {
  const { name } = macs
  await macs.reportAs({ mac: '00:50:56:00:00:01' })
  await reports.until(
    'it is told',
    () => condition(reports.last(name), 'IdentityVerified')?.reason === 'MACsContradict',
  )
  await loseHeartbeats(cluster, name)
  t.ok(nodes.last(name))
  await vcsim.hide(macs.vm.ref)
  await deleted(stage, name)
})
