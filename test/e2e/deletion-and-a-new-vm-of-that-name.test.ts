// A VM is deleted and created again under its name, and a new Node of that name appears at once:
// kubernetes/cloud-provider-vsphere#381, #397. The API server refuses a deletion that was meant for the old one.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { deletionPending, deletionsCounted, eventsOfReason, QUICK, settled } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { openPlay } from '../world/play.ts'
import type { Stage } from '../world/stage.ts'

let proxy: Awaited<ReturnType<Stage['line']>> | undefined
const stage = await openPlay(
  t,
  ['between', 'canary'],
  { ...QUICK, maxAbsentShare: '100%' },
  {
    async controller({ line }) {
      proxy = await line()
      return { cluster: proxy.cluster }
    },
  },
)
const { cluster, nodes, vcsim } = stage
const { between } = stage.cast

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
  await deletionsCounted(stage.leader, 0)
  t.same(eventsOfReason(stage, between.name, 'NodeDeleted'), [])
})

/** How many deletions of Nodes the API server has refused. */
async function refusals(): Promise<number> {
  const { body } = await cluster.request<string>('GET', '/metrics')
  return body
    .split('\n')
    .filter((line) => /^apiserver_request_total\{/.test(line) && /resource="nodes"/.test(line))
    .filter((line) => /verb="DELETE"/.test(line) && /code="4\d\d"/.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}
