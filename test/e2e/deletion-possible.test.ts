// That an account could never prove an absence is reported while the VMs exist; an empty vCenter, and one without any
// other VM, keep nobody.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { startVcsim } from '../servers/vcsim.ts'
import type { Controller } from '../world/controller.ts'
import { deletionPending, deletionsCounted, eventsOfReason, QUICK } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { openPlay } from '../world/play.ts'

const empty = await startVcsim({ vms: 0, seed: 'second', password: 'another' })
t.teardown(() => empty.stop())
await empty.revoke({ object: '/', alone: true })
// The brake is not what this is about.
const lifecycle = { ...QUICK, maxAbsentShare: '100%' }
const stage = await openPlay(t, ['first', 'second', 'last'], lifecycle, {
  async controller({ vcsim, vms }) {
    await vcsim.govc('folder.create', '/DC0/vm/workers')
    for (const { ref } of vms) await vcsim.move({ vm: ref, folder: '/DC0/vm/workers' })
    return { otherVCenters: { second: empty } }
  },
})
const { cluster, nodes, reports, events, vcsim, members, leader: controller } = stage
const { first, second, last } = stage.cast

const LINE =
  'vCenter second: PrivilegeMissing, so that Nodes whose VMs are gone are kept; see the condition DeletionPossible of NodeReports'

async function readyz({ url }: Controller): Promise<{ ok: boolean; text: string }> {
  const response = await fetch(`${url}/readyz`)
  return { ok: response.ok, text: (await response.text()).trim() }
}
const possible = (name: string) => condition(reports.last(name), 'DeletionPossible')
const provable = (vCenter: string) => stage.count(`rollcall_vcenter_absence_provable{vcenter="${vCenter}"}`)

t.test('that nothing can be proven is said when a VM is bound', async (t) => {
  await reports.until('it is said', () => members.every(({ name }) => possible(name)?.status === 'False'))
  t.match(possible(first.name), {
    reason: 'PrivilegeMissing',
    message:
      /^if its VM vanished, that could not be proven.* vCenter second: the account lacks System\.View and System\.Read on the root folder/,
  })
  await events.until('it is told', () => eventsOfReason(stage, first.name, 'PrivilegeMissing').length > 0)
  t.match(eventsOfReason(stage, first.name, 'PrivilegeMissing'), [{ type: 'Warning', count: 1 }])
  t.same(await readyz(controller), { ok: true, text: `leading\n${LINE}` }, 'all else works')
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/rollcall-controller'
  await until('the leader says for status what is missing', async () =>
    /are kept: the account lacks System\.View and System\.Read on the root folder/.test(
      JSON.stringify((await cluster.request('GET', lease)).body),
    ),
  )
  await until('the other one has been asked as well', async () => (await provable('main')) === 1)
  t.equal(await provable('main'), 1)
  t.equal(await provable('second'), 0)
})

t.test('it is so: a VM that is destroyed keeps its Node until the account may read the root', async (t) => {
  await loseHeartbeats(cluster, first.name)
  await vcsim.govc('vm.destroy', first.vm.name)
  const { message } = await deletionPending(stage, first.name, {
    status: 'Unknown',
    reason: 'PrivilegeMissing',
  })
  t.match(message, /vCenter second: the account lacks .* on the root folder/)
  await empty.restore()
  await stage.ends(first)
  // It asks again with each session, and every five minutes.
  await empty.endSessions()
  await reports.until('it is taken back', () => possible(last.name)?.status === 'True')
  t.match(possible(last.name), { reason: 'AbsenceProvable' })
  await until('it is not said any more', async () => (await readyz(controller)).text === 'leading')
  t.equal(await provable('second'), 1)
})

t.test('the folder goes with all that is left of the VMs', async (t) => {
  await loseHeartbeats(cluster, second.name, last.name)
  await vcsim.govc('vm.destroy', second.vm.name)
  await stage.ends(second)
  t.ok(nodes.last(last.name))
  await vcsim.govc('vm.destroy', last.vm.name)
  await vcsim.govc('object.destroy', '/DC0/vm/workers')
  t.same(await vcsim.vms(), [], 'no vCenter has any VM')
  await stage.ends(last)
  await deletionsCounted(controller, 3)
})
