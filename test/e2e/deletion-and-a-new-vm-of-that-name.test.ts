// A VM is deleted and created again under its name, and a new Node of that name appears at once:
// kubernetes/cloud-provider-vsphere#381, #397
import t from 'tap'
import { until } from '../fixtures/until.ts'
import {
  deletionPending,
  deletionsCounted,
  eventsOfReason,
  QUICK,
  settled,
  verified,
  watched,
} from '../world/deletion.ts'
import { heartbeat, loseHeartbeats } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { openPlay } from '../world/play.ts'
import type { Stage } from '../world/stage.ts'

let proxy: Awaited<ReturnType<Stage['line']>> | undefined
const stage = await openPlay(
  t,
  ['after', 'between', 'during', 'clock', 'canary'],
  { ...QUICK, absentFor: '2s', maxAbsentShare: '100%' },
  {
    vms: 6,
    async controller({ line }) {
      proxy = await line()
      return { cluster: proxy.cluster }
    },
  },
)
const { cluster, events, nodes, reports, vcsim } = stage
const { after, between, during, clock } = stage.cast
const [takenOver] = await verified(stage, 'taken-over')
await watched(stage)

/** How many deletions of Nodes the API server has refused. */
async function refusals(): Promise<number> {
  const { body } = await cluster.request<string>('GET', '/metrics')
  return body
    .split('\n')
    .filter((line) => /^apiserver_request_total\{/.test(line) && /resource="nodes"/.test(line))
    .filter((line) => /verb="DELETE"/.test(line) && /code="4\d\d"/.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

t.test('after the old Node was deleted', async (t) => {
  await loseHeartbeats(cluster, after.name)
  const vm = await vcsim.recreate(after.vm.ref)
  t.equal(vm.name, after.vm.name)
  await stage.ends(after)
  const next = await stage.reported(after.name, { vm })
  await settled(stage, next.name)
  t.match(nodes.last(next.name), {
    metadata: { uid: next.uid },
    spec: { providerID: `vsphere://${vm.uuid}` },
  })
  t.match(reports.last(next.name)?.status, {
    nodeUID: next.uid,
    vm: { moref: vm.ref },
    identityLevel: 'proven',
  })
  t.equal(condition(reports.last(next.name), 'DeletionPending'), undefined, 'that was said of the old one')
  t.match(eventsOfReason(stage, after.name, 'NodeDeleted'), [{ involvedObject: { uid: after.uid } }])
})

t.test('between the last confirmation and the deletion, which comes too late', async (t) => {
  await loseHeartbeats(cluster, between.name)
  const before = await refusals()
  // Ways to the API server and back for an answer, for the confirmation of the Lease, and for the deletion: time enough to
  // replace the Node before that arrives.
  proxy?.set('works', 500)
  const vm = await vcsim.recreate(between.vm.ref)
  await deletionPending(stage, between.name, { status: 'True', reason: 'VMGone' })
  await stage.remove(between.name)
  const next = await stage.member(between.name, { vm })
  await until('the late deletion has arrived', async () => (await refusals()) === before + 1)
  proxy?.set('works')
  t.equal(nodes.last(next.name)?.metadata.uid, next.uid, 'the new Node is kept')
  await next.reportOnce()
  await settled(stage, next.name)
  t.equal(nodes.last(next.name)?.spec.providerID, `vsphere://${vm.uuid}`)
  await deletionsCounted(stage.leader, 'main', 1)
  t.same(eventsOfReason(stage, between.name, 'NodeDeleted'), [])
})

t.test('while it is being confirmed, and the new one is not ready, nor has it reported', async (t) => {
  await loseHeartbeats(cluster, during.name, clock.name)
  const vm = await vcsim.recreate(during.vm.ref)
  await deletionPending(stage, during.name, { status: 'True', reason: 'NotConfirmed' })
  await vcsim.hide(clock.vm.ref)
  await stage.remove(during.name)
  const next = await stage.member(during.name, { vm })
  await heartbeat(cluster, during.name, 'False')
  // It went missing later.
  await stage.ends(clock)
  t.equal(nodes.last(next.name)?.metadata.uid, next.uid, 'kept')
  await next.reportOnce()
  await settled(stage, next.name)
  t.equal(nodes.last(next.name)?.spec.providerID, `vsphere://${vm.uuid}`)
})

t.test('the kubelet of the new VM takes the old Node over', async (t) => {
  const { name } = takenOver
  const vm = await vcsim.recreate(takenOver.vm.ref)
  await heartbeat(cluster, name)
  await takenOver.reportAs({ vm })
  await events.until('it is told', () => eventsOfReason(stage, name, 'ProviderIDOfAnotherVM').length > 0)
  t.match(condition(reports.last(name), 'IdentityVerified'), {
    status: 'False',
    message: /kubectl delete node taken-over/,
  })
  t.equal(nodes.last(name)?.metadata.uid, takenOver.uid, 'a machine that lives loses no Node')
})
