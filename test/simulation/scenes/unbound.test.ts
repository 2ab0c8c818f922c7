// Nodes that Rollcall never bound, as after the CPI, and those whose NodeReport was deleted.
import { TAINT_SHUTDOWN } from '../../../controller/types/well-known.ts'
import { SETTINGS } from '../../fixtures/facts.ts'
import { type Machine, swapBytes } from '../model/machine.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { DELETED, NO_BRAKE } from './common.ts'

const DELETED_UNBOUND = 'rollcall_nodes_deleted_total{vcenter="unknown"}'
/** Milliseconds after which the Node of a new machine is there, and everybody knows it. */
const REGISTERED = 60_000

/** As the CPI leaves a Node: initialized, and no agent has ever reported it. */
function migrated(scene: FixedScene<string>, name: string, swapped = false): Machine {
  return scene.joins(name, { migrated: true, swapped })
}

/** Makes machines silent whose VMs are there, and waits until vCenter is found to have them. */
async function areSeen(scene: FixedScene<string>, machines: readonly Machine[]): Promise<readonly unknown[]> {
  const namedVM = ({ nodeName }: Machine) => scene.status(nodeName)?.namedVM?.moref
  scene.silence(...machines)
  await scene.until('all were looked for', () =>
    machines.every(
      (each) => namedVM(each) !== undefined || scene.condition(each.nodeName)?.status === 'True',
    ),
  )
  return machines.map(namedVM)
}
const morefs = (machines: readonly Machine[]) => machines.map(({ vm }) => vm?.moref)

scenario(
  'by default it is said how to let them go',
  { nodes: ['canary', 'forgotten'], lifecycle: NO_BRAKE },
  async (scene, t) => {
    const gone = migrated(scene, 'gone')
    const { forgotten } = scene.cast
    // One in each byte order: where only one of both is known, the VM of the other Node is not found.
    const seen = [migrated(scene, 'seen'), migrated(scene, 'seen-swapped', true)]
    migrated(scene, 'well')
    await scene.pass(REGISTERED)
    scene.vanish(gone, forgotten)
    scene.world.api.putReport('forgotten', undefined)
    const wayOut = /the Node is kept: no vCenter has ever shown .*, or set lifecycle\.unbound to delete$/
    await scene.said('gone', { status: 'Unknown', reason: 'NotConfirmed', message: wayOut })
    for (const name of ['gone', 'forgotten']) {
      const { message } = await scene.said(name, { status: 'True', reason: 'NotBound' })
      t.match(message, new RegExp(`kubectl delete node ${name}, or set lifecycle.unbound to delete`))
      await scene.told(name, 'NotBound')
      t.ok(scene.node(name))
    }
    await scene.counted(DELETED_UNBOUND, 0)
    t.same(await areSeen(scene, seen), morefs(seen), 'their VMs were seen')
    t.equal(scene.status('well'), undefined, 'of one that is well nothing is said')
    t.equal(scene.nodeWrites('well'), 0, 'nor anything written')
  },
)

scenario(
  'by default, not one that a clone of its vCenter shows; without the clone its vCenter is asked for what that showed',
  { nodes: ['canary'], lifecycle: NO_BRAKE },
  async (scene, t) => {
    const { world, vCenter } = scene
    const shown = migrated(scene, 'shown')
    await scene.pass(REGISTERED)
    const clone = world.cloneVCenter(vCenter, world.random)
    for (const vm of vCenter.vms.values())
      clone.register({ ...vm, shownPower: 'poweredOn', machine: undefined }, vm.moref)
    world.configFile.add(clone.name, vCenter.name)
    // Before it is silent nobody knows it: its own vCenter never shows it for its report.
    scene.vanish(shown)
    await scene.until('the clone has shown it', () => scene.status('shown')?.namedVM !== undefined)
    t.match(scene.status('shown')?.namedVM, { vCenter: clone.name, moref: shown.lastVM?.moref })
    await scene.pass(2 * SETTINGS.lifecycle.absentFor)
    t.ok(scene.node('shown'), 'as long as a vCenter has it')
    const removedAt = world.timeline.now
    world.configFile.remove(clone.name)
    clone.retiredAt = removedAt
    await scene.ends(shown)
    const took = (scene.deletedAt(shown) ?? 0) - removedAt
    t.ok(took >= SETTINGS.lifecycle.absentFor, `it goes after ${took} ms`)
    t.ok(took < 6 * SETTINGS.lifecycle.absentFor, `and not later than after ${took} ms`)
  },
)

scenario(
  'with lifecycle.unbound: delete they go, by the UUID of their provider ID',
  { nodes: ['canary', 'forgotten'], lifecycle: { ...NO_BRAKE, unbound: 'delete' } },
  async (scene, t) => {
    const [gone, swapped] = [migrated(scene, 'gone'), migrated(scene, 'swapped', true)]
    const { forgotten } = scene.cast
    // No vCenter has ever shown them.
    scene.hide(gone, swapped)
    await scene.pass(REGISTERED)
    // As some installations of the in-tree provider wrote it.
    const node = scene.node('swapped')
    const providerID = `vsphere://${swapBytes(swapped.biosUUID).toUpperCase()}`
    if (node !== undefined)
      scene.world.api.putNode('swapped', { ...node, spec: { ...node.spec, providerID } })
    scene.silence(gone, swapped)
    scene.vanish(forgotten)
    scene.world.api.putReport('forgotten', undefined)
    await scene.ends(gone, forgotten, swapped)
    await scene.told('gone', 'NodeDeleted')
    t.match(scene.events('gone', 'NodeDeleted'), [{ message: new RegExp(gone.biosUUID) }])
    for (const machine of [gone, forgotten, swapped]) {
      const took = (scene.deletedAt(machine) ?? 0) - machine.vanishedAt
      t.ok(took >= 6 * SETTINGS.lifecycle.absentFor, `${machine.nodeName} goes after ${took} ms`)
    }
  },
)

scenario(
  'with lifecycle.unbound: delete, not one whose VM is there, under whatever byte order',
  { nodes: ['canary'], lifecycle: { ...NO_BRAKE, unbound: 'delete' } },
  async (scene, t) => {
    const seen = [migrated(scene, 'seen'), migrated(scene, 'seen-swapped', true)]
    const off = [migrated(scene, 'off'), migrated(scene, 'off-swapped', true)]
    const again = migrated(scene, 'again')
    await scene.pass(REGISTERED)
    for (const machine of off) scene.world.machines.halt(machine, 'poweredOff')
    t.same(await areSeen(scene, [...seen, ...off]), morefs([...seen, ...off]), 'their VMs were seen')
    // In an outage of its datastore no search finds it, and it is remembered as what it was.
    for (const { vm } of off) {
      if (vm === undefined) throw new Error('it is listed')
      vm.connectionState = 'inaccessible'
      vm.vCenter.changed(vm)
    }
    scene.vanish(again)
    await scene.ends(again)
    for (const { nodeName } of [...off, ...seen]) t.ok(scene.node(nodeName), nodeName)
  },
)

scenario(
  'with lifecycle.unbound: delete, nor one that shows a sign of life',
  { nodes: ['canary'], lifecycle: { ...NO_BRAKE, unbound: 'delete' } },
  async (scene, t) => {
    const [well, again] = [migrated(scene, 'well'), migrated(scene, 'again')]
    await scene.pass(REGISTERED)
    well.ready = false
    scene.hide(well)
    scene.vanish(again)
    await scene.ends(again)
    t.ok(scene.node('well'))
    t.not(scene.condition('well')?.reason, 'VMGone')
  },
)

// kubernetes/cloud-provider-vsphere#387
scenario(
  'machines that go before their Nodes are initialized',
  { nodes: ['canary'], lifecycle: NO_BRAKE },
  async (scene, t) => {
    const bound = scene.joins('bound', { tools: false })
    const [unbound, silent] = [scene.joins('unbound'), scene.joins('silent')]
    bound.address = undefined
    silent.agent = false
    // No vCenter has ever shown it.
    scene.hide(unbound)
    const cpis = migrated(scene, 'migrated')
    scene.hide(cpis)
    await scene.said('bound', { reason: 'NoAddress' }, 'AddressesResolved')
    await scene.told('unbound', 'NoVMWithUUID')
    await scene.pass(REGISTERED)
    const [moref, before] = [bound.vm?.moref, scene.status('bound')?.vm?.moref]
    t.equal(before, moref)
    scene.vanish(bound, silent)
    scene.silence(unbound, cpis)

    t.notOk(scene.isInitialized('bound'), 'it was not initialized')
    await scene.ends(bound)
    await scene.told('bound', 'NodeDeleted')

    t.match(scene.events('unbound', 'NoVMWithUUID'), [
      { message: /no VM with BIOS UUID .* is visible in vCenter vc-1; check that the VM exists/ },
    ])
    await scene.ends(unbound)
    await scene.told('unbound', 'NodeDeleted')
    const message = new RegExp(`the machine with BIOS UUID ${unbound.biosUUID} is gone`)
    t.match(scene.events('unbound', 'NodeDeleted'), [{ message }])

    // One without a report is kept.
    await scene.counted('rollcall_nodes_held_up{condition="Initialized",reason="NoReport"}', 1)
    t.ok(scene.node('silent'))

    // And one that another provider initialized.
    await scene.told('migrated', 'NotBound')
    t.match(scene.events('migrated', 'NotBound'), [
      {
        type: 'Warning',
        message: /only that UUID could prove it gone; if it is gone: kubectl delete node migrated/,
      },
    ])
    t.ok(scene.node('migrated'))
    t.equal(scene.nodeWrites('migrated'), 0, 'as its kubelet and the node lifecycle controller left it')
    await scene.counted(DELETED, 1)
    await scene.counted(DELETED_UNBOUND, 1)
  },
)

scenario(
  'its VM was off before any leader saw its Node',
  { nodes: ['canary'], lifecycle: NO_BRAKE },
  async (scene, t) => {
    const off = migrated(scene, 'off')
    await scene.pass(REGISTERED)
    const isTainted = () => scene.node('off')?.spec.taints.some(({ key }) => key === TAINT_SHUTDOWN) === true
    scene.world.machines.halt(off, 'poweredOff')
    await scene.until('it is silent', () => scene.ready('off') === 'Unknown')
    await scene.until('it has the taint', isTainted)
    scene.world.machines.boot(off)
    await scene.until('it has it no more', () => !isTainted())
    t.ok(scene.node('off'))
  },
)
