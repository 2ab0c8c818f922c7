// A search that finds the VM, and a read after it that fails: as the controller starts, with the Node not ready.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimFault } from '../servers/control.ts'
import { deletionPending, QUICK, verified } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, reports, vcsim } = stage
t.afterEach(() => vcsim.clearFaults())

const ABSENT_FOR = 2_000
const lifecycle = { ...QUICK, absentFor: `${ABSENT_FOR}ms`, maxAbsentShare: '100%' }
const first = await stage.controller({ identity: 'first', lifecycle })
const [living, gone] = await verified(stage, 'living', 'gone', 'canary')
if (!living || !gone) throw new Error('there are three')
await first.stop()
await vcsim.hide(gone.vm.ref)
await loseHeartbeats(cluster, living.name, gone.name)

const cases: readonly {
  what: string
  fault: Omit<VcsimFault, 'operation'>
  reason: string
  rest: boolean
}[] = [
  { what: '503', fault: { kind: 'status', status: 503 }, reason: 'Unavailable', rest: false },
  { what: 'a reset', fault: { kind: 'reset' }, reason: 'Unreachable', rest: false },
  // Last: vCenter answers all else, so that the Node whose VM is gone is deleted meanwhile.
  {
    what: 'NoPermission',
    fault: { kind: 'fault', fault: 'NoPermission', object: living.vm.ref },
    reason: 'NoPermission',
    rest: true,
  },
]

for (const { what, fault, reason, rest } of cases) {
  t.test(`reads are answered with ${what}`, async (t) => {
    const id = await vcsim.fault({ operation: 'RetrievePropertiesEx', ...fault })
    const controller = await stage.controller({ identity: what, lifecycle, until: 'answering' })
    const { message } = await deletionPending(stage, living.name, { status: 'Unknown', reason })
    t.match(message, /^vCenter cannot be asked whether its VM is gone, so the Node is kept: /)
    if (rest) {
      await nodes.until('the other Node is deleted', () => nodes.last(gone.name) === undefined)
    } else {
      const start = performance.now()
      await until('it was tried again and again', async () => {
        const hits = (await vcsim.faults()).find((each) => each.id === id)?.hits ?? 0
        return hits >= 3 && performance.now() - start > 1.5 * ABSENT_FOR
      })
      t.ok(nodes.last(gone.name), 'nor is one deleted whose VM is gone')
    }
    t.ok(nodes.last(living.name), 'kept')
    await until('deletions are counted', async () => {
      return (await metric(controller, 'rollcall_nodes_deleted_total{vcenter="main"}')) === (rest ? 1 : 0)
    })
    await controller.stop()
  })
}

t.test('reads are answered', async (t) => {
  await stage.controller({ identity: 'last', lifecycle })
  await deletionPending(stage, living.name, { status: 'False', reason: 'VMExists' })
  // The probe may have its answer before the VM is found again.
  await reports.until('the VM is found', () => {
    return condition(reports.last(living.name), 'VMFound')?.status === 'True'
  })
  t.ok(nodes.last(living.name))
})
