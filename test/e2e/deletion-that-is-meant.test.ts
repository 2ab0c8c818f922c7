// An autoscaler removes 60 % of the cluster at once, and says so by its taint.
import t from 'tap'
import { brakeEvents, deletionPending } from '../world/deletion.ts'
import { metric } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'
import { BRAKE, DELETED, HALF_LIFECYCLE, openHalf } from './half.ts'

const stage = await openStage(t, { vms: 10 })
const { cluster, nodes, vcsim } = stage
const controller = await stage.controller({ lifecycle: HALF_LIFECYCLE })
const { members, names, refs, kept } = await openHalf(stage, 6)
const [survivor] = members.slice(-1)
if (survivor === undefined) throw new Error('there are ten')

t.test('its Nodes go without a person, and hold nobody else', async (t) => {
  for (const name of names) {
    const { status } = await cluster.request(
      'PATCH',
      `/api/v1/nodes/${name}`,
      {
        spec: {
          taints: [
            { key: 'ToBeDeletedByClusterAutoscaler', value: '1767225600', effect: 'NoSchedule' },
            { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
          ],
        },
      },
      { contentType: 'application/merge-patch+json' },
    )
    t.equal(status, 200)
  }
  await vcsim.hide(...refs)
  await nodes.until('all are deleted', () => kept() === 4)
  t.equal(await metric(controller, BRAKE), 0)
  t.equal(await metric(controller, DELETED), 6)
  for (const name of names) t.same(brakeEvents(stage, name), [], name)

  await vcsim.hide(survivor.vm.ref)
  await deletionPending(stage, survivor.name, { status: 'True', reason: 'NodeReady' })
})
