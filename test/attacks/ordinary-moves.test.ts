// What moves a binding and is no attack, with one that looks like it beside each: see rows/copies.ts and rows/sites.ts. None
// needs a person, but the last.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimVM } from '../servers/control.ts'
import { startVcsim } from '../servers/vcsim.ts'
import { followed, QUICK } from '../world/deletion.ts'
import { heartbeat } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition, eventsOf, isInitialized } from '../world/objects.ts'
import { REGION_CATEGORY, ZONE_CATEGORY } from '../world/stage.ts'
import { type Forger, openAttackStage, truth } from './stage.ts'
import { booted, claims, copyOf, elsewhere, holdings, isUnique, show } from './tenant.ts'

const other = await startVcsim({ clusters: 2, vms: 8, seed: 'second', password: 'another' })
t.teardown(() => other.stop())
await other.tag(
  { category: ZONE_CATEGORY, tag: 'zone-c', object: 'DC0_C0' },
  { category: ZONE_CATEGORY, tag: 'zone-c', object: 'DC0_C1' },
  { category: REGION_CATEGORY, tag: 'region-2', object: 'DC0' },
)
const stage = await openAttackStage(
  t,
  { vms: 12 },
  { otherVCenters: { second: other }, topology: { onChange: 'relabel' }, lifecycle: QUICK },
)
const { cluster, nodes, reports, events, vcsim } = stage
const theirs = await other.vms()

/** The VM as it is in the second vCenter after a move: with all its UUIDs and its MACs. */
async function movedThere({ vm }: Forger): Promise<VcsimVM> {
  const there = theirs.shift()
  if (there === undefined) throw new Error('no VM is left in the second vCenter')
  await other.setState({ vm: there.ref, instanceUuid: vm.instanceUuid })
  return copyOf(stage, vm, { vm: there, vcsim: other })
}

/** The machine speaks until this is so. */
async function speaking(node: Forger, what: string, ask: () => boolean): Promise<void> {
  let turn = 0
  await until(what, async () => {
    turn += 1
    await heartbeat(cluster, node.name)
    await node.report(truth(node, { hostname: `turn-${turn}.example` }))
    await sleep(500)
    return ask()
  })
}

const vmOf = ({ name }: Forger) => reports.last(name)?.status?.vm
const zoneOf = ({ name }: Forger) => nodes.last(name)?.metadata.labels['topology.kubernetes.io/zone']

/** It is that VM now, is as much believed as ever, and it was said why. */
async function checkMoved(t: Test, node: Forger, why: RegExp): Promise<void> {
  await reports.until(`${node.name} is proven`, () => {
    return condition(reports.last(node.name), 'IdentityVerified')?.reason === 'Proven'
  })
  await events.until('it is said', () =>
    eventsOf(events, node.name).some(({ reason, message }) => reason === 'VMChanged' && why.test(message)),
  )
  // The agent's first report may be among them, of which nothing was decided.
  const decided = reports.of(node.name).filter(({ object }) => object.status !== undefined)
  for (const { object } of decided.slice(-3)) t.equal(object.status?.identityLevel, 'proven')
  t.ok(isInitialized(nodes.last(node.name)))
  t.equal((await holdings(stage, node.name)).uid, node.uid, 'it is the same Node')
  // The VM before counts as a copy until its vCenter has said that it is off.
  await reports.until('nothing is left that passes for it', () => isUnique(stage, node.name))
}

t.test('moved to another vCenter', async (t) => {
  const node = await stage.forger('moved')
  await node.proven()
  await followed(stage, node.vm)
  const there = await movedThere(node)
  await show({ vcsim: other }, there, claims.own(node))
  await vcsim.unregister(node.vm.ref)
  await speaking(node, 'it is there', () => vmOf(node)?.vCenter === 'second')
  t.match(vmOf(node), { moref: there.ref })
  await checkMoved(t, node, /proven gone/)
  await nodes.until('its zone is that of its VM', () => zoneOf(node) === 'zone-c')
  t.equal((await holdings(stage, node.name)).formerVMs, 0)
})

t.test('restored in the same vCenter, while its former VM is off', async (t) => {
  const node = await stage.forger('restored')
  await node.proven()
  await followed(stage, node.vm)
  await vcsim.setState({ vm: node.vm.ref, powerState: 'poweredOff' })
  await reports.until(
    'it is off',
    () => condition(reports.last(node.name), 'VMFound')?.reason === 'VMPoweredOff',
  )
  const copy = await copyOf(stage, node.vm, { vm: elsewhere(stage, node.vm) })
  const machine = booted(node)
  await show(stage, copy, claims.own(machine))
  t.match(await node.report(truth(machine)), { status: 200 })
  await reports.until('it is there', () => vmOf(node)?.moref === copy.ref)
  await checkMoved(t, node, /does not run/)
  t.equal((await holdings(stage, node.name)).formerVMs, 1)
})

t.test('failed over to another site, while its own vCenter is down', async (t) => {
  const node = await stage.forger('failed-over')
  await node.proven()
  await followed(stage, node.vm)
  const there = await movedThere(node)
  await vcsim.fault({ operation: '*', kind: 'status', status: 503 })
  await vcsim.endSessions()
  // The poll that waits ends with news, and the next is refused.
  await vcsim.tell(node.vm.ref, { name: 'config', op: 'assign' })
  await until('its vCenter is away', async () => {
    return (await metric(stage.running, 'rollcall_vcenter_up{vcenter="main"}')) === 0
  })
  const machine = booted(node)
  await show({ vcsim: other }, there, claims.own(machine))
  t.match(await node.report(truth(machine)), { status: 200 })
  await reports.until('it is there', () => vmOf(node)?.vCenter === 'second')
  await nodes.until('its zone is that of its VM', () => zoneOf(node) === 'zone-c')
  await vcsim.setState({ vm: node.vm.ref, powerState: 'poweredOff' })
  await vcsim.clearFaults()
  await until('its vCenter is back', async () => {
    return (await metric(stage.running, 'rollcall_vcenter_up{vcenter="main"}')) === 1
  })
  await checkMoved(t, node, /does not run/)
  t.match(vmOf(node), { vCenter: 'second' }, 'and it does not go back by itself')
})

t.test('its vCenter is replaced, and taken out of the configuration', async (t) => {
  const there = theirs.shift()
  const here = stage.vms.shift()
  if (there === undefined || here === undefined) throw new Error('no VM is left')
  const node = await stage.forger('replaced', { vm: there, vcsim: other })
  await node.proven()
  await vcsim.setState({ vm: here.ref, instanceUuid: there.instanceUuid })
  await copyOf(stage, there, { vm: here })
  await show(stage, here, claims.own(node))
  await stage.newLeader({ otherVCenters: {} })
  await reports.until('it is there', () => vmOf(node)?.vCenter === 'main')
  await checkMoved(t, node, /no longer configured/)
})

t.test('a person names the VM', async (t) => {
  const node = await stage.forger('named')
  await node.proven()
  await followed(stage, node.vm)
  const copy = await copyOf(stage, node.vm)
  await reports.until('the copy is told', () => !isUnique(stage, node.name))
  const annotations = { 'rollcall.dev/vm': copy.instanceUuid }
  const { status } = await cluster.request(
    'PATCH',
    `/api/v1/nodes/${node.name}`,
    { metadata: { annotations } },
    { contentType: 'application/merge-patch+json' },
  )
  t.equal(status, 200)
  await reports.until('it is that VM', () => vmOf(node)?.moref === copy.ref)
  await events.until('it is said', () =>
    eventsOf(events, node.name).some(
      ({ reason, message }) => reason === 'VMChanged' && /person/.test(message),
    ),
  )
  t.equal((await holdings(stage, node.name)).formerVMs, 1)
})
