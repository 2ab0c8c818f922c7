import t, { type Test } from 'tap'
import type { VcsimVM } from '../servers/control.ts'
import { startVcsim, type Vcsim } from '../servers/vcsim.ts'
import { followed } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition, hasTaint, isShutDown } from '../world/objects.ts'
import { runTheme } from './refused.ts'
import { failovers } from './rows/failovers.ts'
import type { AttackRow } from './rows/row.ts'
import { type Forger, openAttackStage, truth } from './stage.ts'
import { booted, checkTold, claims, copyOf, isUnique, show } from './tenant.ts'

const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', value: 'rollcall', effect: 'NoExecute' }

const other = await startVcsim({ clusters: 2, vms: 8, seed: 'second', password: 'another' })
const stage = await openAttackStage(
  t,
  { vms: 10 },
  {
    otherVCenters: { second: other },
    lifecycle: { outOfServiceAfter: '1s', leaderAge: '0s' },
  },
)
t.teardown(() => other.stop())
const { cluster, nodes, reports, vcsim } = stage
const theirs = await other.vms()

function spare(vms: VcsimVM[]): VcsimVM {
  const vm = vms.shift()
  if (vm === undefined) throw new Error('no VM is left')
  return vm
}

const vmOf = ({ name }: Forger) => reports.last(name)?.status?.vm?.moref
const isOut = ({ name }: Forger) => hasTaint(nodes.last(name), OUT_OF_SERVICE)

/** Switches the VM of a Node off, which loses what its guest has written, and waits for the taint of that. */
async function switchOff(node: Forger, vm: VcsimVM, at: Vcsim): Promise<void> {
  await loseHeartbeats(cluster, node.name)
  await at.setState({ vm: vm.ref, powerState: 'poweredOff' })
  await show({ vcsim: at }, vm, '')
  await nodes.until(`${node.name} is shut down`, () => isShutDown(nodes.last(node.name)))
}

// Nothing speaks against taking it out of service.
const ordinary = await stage.forger('ordinary', { vm: spare(theirs), vcsim: other })
await ordinary.proven()
await followed({ vcsim: other }, ordinary.vm)

/** The Node gets no more than its shutdown taint, while another one that goes off later is out of service again and again. */
async function checkInService(t: Test, node: Forger, { seen }: AttackRow): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) {
    await switchOff(ordinary, ordinary.vm, other)
    await nodes.until('another Node is out of service', () => isOut(ordinary))
    await other.setState({ vm: ordinary.vm.ref, powerState: 'poweredOn' })
    await nodes.until('it is back', () => !isOut(ordinary) && !isShutDown(nodes.last(ordinary.name)))
  }
  t.notOk(isOut(node), 'its volumes stay')
  t.ok(isShutDown(nodes.last(node.name)))
  const said = [condition(reports.last(node.name), 'VMFound'), condition(reports.last(node.name), 'VMUnique')]
  t.ok(
    said.some((each) => each?.reason === seen),
    JSON.stringify(said),
  )
}

await runTheme(t, failovers, {
  'copied claim': async (t, row) => {
    const vm = spare(stage.vms)
    await vcsim.hide(vm.ref)
    const copy = await copyOf(stage, vm)
    const node = await stage.forger('taken-before', { vm })
    t.match(await node.report(truth(node)), { status: 201 })
    await reports.until('it is taken for the copy', () => vmOf(node) === copy.ref)
    await vcsim.show(vm.ref)
    await show(stage, vm, claims.own(node))
    await reports.until('it is its own VM again', () => vmOf(node) === vm.ref)
    await followed(stage, vm, copy)
    await switchOff(node, vm, vcsim)
    await show(stage, copy, claims.own(node))
    await checkTold(t, stage, { node, copy }, { reason: row.seen })
    const seesClaim = () =>
      condition(reports.last(node.name), 'VMUnique')?.message.includes('and the claim of') === true
    await reports.until('its claim is seen there', () => seesClaim() || vmOf(node) !== vm.ref)
    await checkInService(t, node, row)
    t.equal(vmOf(node), vm.ref, 'it is not given to the copy')
  },

  'host away': async (t, row) => {
    const node = await stage.forger('beside')
    await node.proven()
    const copy = await copyOf(stage, node.vm)
    await vcsim.setState({ vm: copy.ref, powerState: 'poweredOff' })
    await followed(stage, node.vm, copy)
    await reports.until('the copy is off', () => isUnique(stage, node.name))
    await vcsim.setState({ vm: copy.ref, connectionState: 'disconnected' })
    await switchOff(node, node.vm, vcsim)
    await checkInService(t, node, row)
    await vcsim.setState({ vm: copy.ref, connectionState: 'connected' })
    await nodes.until('it is known to be off', () => isOut(node))
  },

  'former vCenter away': async (t, row) => {
    const node = await stage.forger('failed-over')
    await node.proven()
    await followed(stage, node.vm)
    await switchOff(node, node.vm, vcsim)
    const there = await copyOf(stage, node.vm, { vm: spare(theirs), vcsim: other })
    const machine = booted({ ...node, vm: there })
    await show({ vcsim: other }, there, claims.own(machine))
    t.match(await node.report(truth(machine)), { status: 200 })
    await reports.until('it is the VM there', () => vmOf(node) === there.ref)
    await nodes.until('which runs', () => !isShutDown(nodes.last(node.name)))
    await followed({ vcsim: other }, there)
    t.ok(isUnique(stage, node.name), 'its former VM is off, and no copy')
    await vcsim.fault({ operation: '*', kind: 'status', status: 503 })
    await vcsim.endSessions()
    await switchOff(node, there, other)
    await checkInService(t, node, row)
    await vcsim.clearFaults()
    await nodes.until('its former VM is known to be off', () => isOut(node))
  },
})
