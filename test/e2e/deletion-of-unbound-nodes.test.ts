// Nodes that Rollcall never bound, as after the CPI, and those whose NodeReport was deleted.
import t, { type Test } from 'tap'
import { deletionPending, eventsOfReason, QUICK, watched } from '../world/deletion.ts'
import { again, heartbeat, loseHeartbeats, registerNode } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 12 })
const { cluster, events, nodes, reports, vcsim, vms } = stage
const absentFor = 6_000
const lifecycle = { ...QUICK, absentFor: `${absentFor}ms`, maxAbsentShare: '100%' } as const
const [, forgotten] = await (async () => {
  const first = await stage.controller({ identity: 'first', lifecycle })
  const members = await stage.crowd(['canary', 'forgotten'])
  await watched(stage)
  await first.stop()
  return members
})()
if (!forgotten) throw new Error('there are two')

/** As the CPI leaves a Node: initialized, and no agent has ever reported it. */
async function migrated(name: string, spelling: (uuid: string) => string = (uuid) => uuid) {
  const vm = vms.shift()
  if (vm === undefined) throw new Error('there is one')
  const providerID = `vsphere://${spelling(vm.uuid)}`
  return { vm, ...(await registerNode(cluster, { name, biosUUID: vm.uuid, providerID, taints: [] })) }
}

/** In the byte order of the in-tree provider. */
function swapped(uuid: string): string {
  const [a = '', b = '', c = '', ...rest] = uuid.split('-')
  const turn = (group: string) => (group.match(/../g) ?? []).reverse().join('')
  return [turn(a), turn(b), turn(c), ...rest].join('-')
}

async function deleteReport(name: string): Promise<void> {
  const { status } = await cluster.request('DELETE', `/apis/rollcall.dev/v1alpha1/nodereports/${name}`)
  if (status !== 200) throw new Error(`the report of ${name} is not deleted: ${status}`)
}

const gone = await migrated('gone')
const old = await migrated('old', (uuid) => swapped(uuid).toUpperCase())
/** One in each byte order: where only one of both is known, the VM of the other Node is not found. */
const seen = [await migrated('seen'), await migrated('seen-swapped', swapped)]
const off = [await migrated('off'), await migrated('off-swapped', swapped)]
const well = await migrated('well')

/** Makes Nodes silent whose VMs are there, and checks that vCenter is found to have them. */
async function areSeen(t: Test, members: readonly Awaited<ReturnType<typeof migrated>>[]): Promise<void> {
  const namedVM = (name: string) => reports.last(name)?.status?.namedVM?.moref
  const isMissed = (name: string) => condition(reports.last(name), 'DeletionPending')?.status === 'True'
  await loseHeartbeats(cluster, ...members.map(({ name }) => name))
  await reports.until('all were looked for', () =>
    members.every(({ name }) => namedVM(name) !== undefined || isMissed(name)),
  )
  for (const { name, vm } of members) t.equal(namedVM(name), vm.ref, `the VM of ${name} was seen`)
}

t.test('by default it is said how to let them go', async (t) => {
  const controller = await stage.controller({ identity: 'reports', lifecycle })
  await vcsim.hide(gone.vm.ref, forgotten.vm.ref)
  await deleteReport(forgotten.name)
  await loseHeartbeats(cluster, gone.name, forgotten.name)
  for (const name of [gone.name, forgotten.name]) {
    const { message } = await deletionPending(stage, name, { status: 'True', reason: 'NotBound' })
    t.match(message, new RegExp(`kubectl delete node ${name}, or set lifecycle.unbound to delete`))
    await events.until('it is told aloud', () => eventsOfReason(stage, name, 'NotBound').length > 0)
    t.ok(nodes.last(name))
  }
  t.equal(await metric(controller, 'rollcall_nodes_deleted_total{vcenter="unknown"}'), 0)
  await areSeen(t, seen)
  t.equal(reports.last(well.name), undefined, 'of one that is well nothing is said')
  t.equal(nodes.of(well.name).length, 1, 'nor anything written')
  await controller.stop()
})

t.test('with lifecycle.unbound: delete they go, by the UUID of their provider ID', async (t) => {
  await stage.controller({ identity: 'deletes', lifecycle: { ...lifecycle, unbound: 'delete' } })
  await nodes.until('both are deleted', () =>
    [gone, forgotten].every(({ name }) => nodes.last(name) === undefined),
  )
  await events.until('it is told', () => eventsOfReason(stage, gone.name, 'NodeDeleted').length > 0)
  t.match(eventsOfReason(stage, gone.name, 'NodeDeleted'), [{ message: new RegExp(gone.vm.uuid) }])

  await t.test('in the other byte order and upper case, too', async (t) => {
    await vcsim.hide(old.vm.ref)
    await loseHeartbeats(cluster, old.name)
    await nodes.until('it is deleted', () => nodes.last(old.name) === undefined)
    t.pass()
  })

  await t.test('not one whose VM is there, under whatever byte order', async (t) => {
    for (const { vm } of off) await vcsim.govc('vm.power', '-off', vm.name)
    await areSeen(t, off)
    // In an outage of its datastore no search finds it, and it is remembered as what it was.
    for (const { vm } of off)
      await vcsim.setState({
        vm: vm.ref,
        connectionState: 'inaccessible',
        powerState: 'poweredOff',
        uuid: '',
      })
    const again = await migrated('again')
    await vcsim.hide(again.vm.ref)
    await loseHeartbeats(cluster, again.name)
    await nodes.until('one that went later is deleted', () => nodes.last(again.name) === undefined)
    for (const { name } of [...off, ...seen]) t.ok(nodes.last(name), name)
  })

  await t.test('nor one that shows a sign of life', async (t) => {
    await heartbeat(cluster, well.name, 'False')
    // Many times before its proof could be complete.
    await using _ = again(absentFor / 20, () => heartbeat(cluster, well.name, 'False'))
    await vcsim.hide(well.vm.ref)
    const another = await migrated('once-more')
    await vcsim.hide(another.vm.ref)
    await loseHeartbeats(cluster, another.name)
    await nodes.until('one that is silent is deleted', () => nodes.last(another.name) === undefined)
    t.ok(nodes.last(well.name))
    t.not(condition(reports.last(well.name), 'DeletionPending')?.reason, 'VMGone')
  })
})
