// Nodes of other providers, and those without any, are left alone, whatever becomes of them:
// kubernetes/cloud-provider-vsphere#538, #677, #1636
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { deletionsCounted, eventsOfReason, QUICK } from '../world/deletion.ts'
import { loseHeartbeats, registerNode } from '../world/kubelet.ts'
import { condition, eventsOf } from '../world/objects.ts'
import { openPlay } from '../world/play.ts'

const stage = await openPlay(
  t,
  ['gone', 'canary'],
  { ...QUICK, absentFor: '2s', maxAbsentShare: '100%' },
  { vms: 4 },
)
const { cluster, events, nodes, reports, vcsim } = stage
const { gone } = stage.cast

const providers = ['kubemark://hollow-1', 'metal3://bmh/1', 'rke2://rke2-1', undefined]
const foreign = providers.map((providerID, i) => ({ name: `foreign-${i}`, providerID }))
for (const { name, providerID } of foreign) {
  const biosUUID = `00000000-0000-4000-8000-00000000000${name.at(-1)}`
  await registerNode(cluster, {
    name,
    biosUUID,
    taints: [],
    ...(providerID === undefined ? {} : { providerID }),
  })
}
/** One on a VM of ours, with an agent, and a provider ID that another provider gave it (k3s-io/k3s#1049). */
const blocked = await stage.reported('blocked', { providerID: 'k3s://blocked', taints: [] })
await reports.until(
  'it is told',
  () => condition(reports.last(blocked.name), 'IdentityVerified')?.reason === 'ForeignProviderID',
)

t.test('their VMs are nowhere, and they are not ready', async (t) => {
  await vcsim.hide(gone.vm.ref, blocked.vm.ref)
  await loseHeartbeats(cluster, gone.name, blocked.name, ...foreign.map(({ name }) => name))
  await stage.ends(gone)
  for (const { name, providerID = 'without a provider ID' } of foreign) {
    t.equal(nodes.of(name).length, 2, `${providerID}: as others left it`)
    t.same(eventsOf(events, name), [])
    t.equal(reports.last(name), undefined)
  }
  await until('the one is not counted any more', async () => {
    return (await stage.count('rollcall_nodes{state="refused"}')) === 1
  })
  t.equal(await stage.count('rollcall_nodes{state="initialized"}'), 1)
  t.equal(await stage.count('rollcall_nodes{state="waiting"}'), 0)
  await deletionsCounted(stage.leader, 'main', 1)
})

t.test('one that an agent speaks for is told once why it is left alone', async (t) => {
  await events.until('it is told', () => eventsOfReason(stage, blocked.name, 'ForeignProviderID').length > 0)
  t.match(eventsOf(events, blocked.name), [
    { type: 'Warning', reason: 'ForeignProviderID', count: 1, message: /k3s:\/\/blocked.*cannot change/ },
  ])
  t.equal(nodes.of(blocked.name).length, 2)
  t.equal(condition(reports.last(blocked.name), 'DeletionPending'), undefined)
})
