// As many VMs vanish as may at once, and one more as soon as their Nodes are deleted: together they are too many.
import t from 'tap'
import { watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'
import { BRAKE, DELETED, HALF_LIFECYCLE } from './half.ts'

const stage = await openStage(t, { vms: 10 })
const { cluster, nodes, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle: HALF_LIFECYCLE })
const members = await stage.crowd(10)
await watched(stage)

async function vanish(group: typeof members): Promise<void> {
  await loseHeartbeats(cluster, ...group.map(({ name }) => name))
  await vcsim.hide(...group.map(({ vm }) => vm.ref))
  await nodes.until('all are deleted', () => group.every(({ name }) => nodes.last(name) === undefined))
}

t.test('past deletions slow down what follows, and engage no brake that would stay', async (t) => {
  await vanish(members.slice(0, 2))
  await vanish(members.slice(2, 3))
  const latched = reports.versions.filter(({ object }) => object.status?.brakeEngagedAt !== undefined)
  t.same(
    latched.map(({ object }) => object.metadata.name),
    [],
  )
  t.equal(await metric(controller, BRAKE), 0)
  t.equal(await metric(controller, DELETED), 3)
})
