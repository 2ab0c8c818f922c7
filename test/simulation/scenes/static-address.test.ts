// A new VM takes the static address of one that was just destroyed, under another name. No Node is deleted here, so a Node
// that is initialized did not wait for a deletion.
import { LABEL_ZONE } from '../../../controller/types/well-known.ts'
import { installAnew } from '../faults/moves.ts'
import { judgeTheEnd } from '../invariants/in-the-end.ts'
import { CATEGORIES, zoneOf } from '../model/tagging.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { NO_BRAKE } from './common.ts'

/** Nothing else is missing of the proof. */
const PROVEN = /kept for now: lifecycle.deletion is off; delete the Node by hand, or set it to on$/
/** Sooner than anybody looks again who is not woken, milliseconds. */
const SOON = 5_000
/** After the first time that all is read anew, milliseconds. */
const ALL_READ = 400_000
/** Longer than a place counts which a VM has left. */
const MOVED = 70_000
const lifecycle = { ...NO_BRAKE, deletion: 'off' } as const

/** The address that a Node has for others. */
const addressOf = (scene: FixedScene<string>, name: string) =>
  scene.node(name)?.status.addresses.find(({ type }) => type === 'InternalIP')?.address
const REFUSED = 'AddressOfAnotherNode'
const refused = (scene: FixedScene<string>, name: string, holder: string) =>
  scene.said(name, { reason: REFUSED, message: new RegExp(`\\(of Node ${holder}\\)`) }, 'AddressesResolved')

scenario(
  'whose VM is proven gone: the new Node is initialized, though the old one stays',
  { nodes: ['gone', 'canary'], lifecycle },
  async (scene, t) => {
    const { gone } = scene.cast
    scene.vanish(gone)
    await scene.said('gone', { status: 'True', reason: 'DeletionOff' })
    scene.joins('next', { address: gone.address })
    await scene.settled('next')
    t.equal(addressOf(scene, 'next'), gone.address)
    t.ok(scene.node('gone'), 'the old Node is still there')
  },
)

scenario('two new machines have one address', { nodes: ['canary'], lifecycle }, async (scene, t) => {
  const { address } = scene.joins('one')
  scene.joins('other', { address })
  // Who leads next judges both at once.
  await scene.nextLeader()
  const names = ['one', 'other']
  let shared = false
  await scene.until('one has it, and the other waits', () => {
    const having = names.filter((name) => scene.isInitialized(name) && addressOf(scene, name) === address)
    shared ||= having.length === 2
    const waiting = names.filter((name) => scene.condition(name, 'AddressesResolved')?.reason === REFUSED)
    return having.length + waiting.length >= 2
  })
  t.notOk(shared, 'at no time both have it')
})

scenario(
  'who has waited is in the zone to which its VM has moved meanwhile',
  { nodes: ['off', 'canary'], lifecycle, labels: CATEGORIES },
  async (scene, t) => {
    const { off } = scene.cast
    scene.world.machines.halt(off, 'poweredOff')
    // All is read every five minutes: it moves after that.
    await scene.at(ALL_READ)
    const { vm } = scene.joins('next', { address: off.address })
    if (vm === undefined) throw new Error('it has a VM')
    await refused(scene, 'next', 'off')
    vm.host = vm.host === 'host-1' ? 'host-2' : 'host-1'
    scene.vCenter.changed(vm)
    await scene.pass(MOVED)
    t.notOk(scene.isInitialized('next'))
    scene.world.api.putNode('off', undefined)
    await scene.settled('next')
    t.equal(scene.node('next')?.metadata.labels[LABEL_ZONE], zoneOf(vm.host))
  },
)

scenario(
  'who came first is woken by the proof',
  { nodes: ['late', 'canary'], lifecycle },
  async (scene, t) => {
    const { late } = scene.cast
    scene.joins('next', { address: late.address })
    await refused(scene, 'next', 'late')
    t.notOk(scene.isInitialized('next'))
    scene.vanish(late)
    await scene.probed(1, 'late')
    // One proof frees its address, once it is silent as well.
    await scene.until('it is silent', () => scene.ready('late') === 'Unknown')
    const proven = scene.world.timeline.now
    await scene.settled('next')
    const took = scene.world.timeline.now - proven
    await scene.said('late', { reason: 'DeletionOff', message: PROVEN })
    t.equal(addressOf(scene, 'next'), late.address)
    t.ok(took < SOON, `${took} ms after the proof`)
  },
)

scenario(
  'a copy with the BIOS UUID of one that is gone does not keep its address',
  { nodes: ['copied', 'canary'], lifecycle },
  async (scene, t) => {
    const { copied } = scene.cast
    const { vm } = copied
    if (vm === undefined) throw new Error('it has a VM')
    const { instanceUUID: _, ...copy } = vm
    scene.vCenter.register({
      ...copy,
      instanceUUID: scene.world.random.uuid(),
      name: 'copy',
      mac: '00:50:56:bb:00:01',
      claim: undefined,
      machine: undefined,
    })
    scene.vanish(copied)
    scene.joins('next', { address: copied.address })
    await scene.settled('next')
    t.equal(addressOf(scene, 'next'), copied.address)
    t.ok(scene.node('copied'), 'its Node is kept, as long as the copy is there')
  },
)

scenario(
  'one that is merely off keeps its address, until a person deletes its Node',
  { nodes: ['off', 'canary'], lifecycle },
  async (scene, t) => {
    const { off } = scene.cast
    scene.world.machines.halt(off, 'poweredOff')
    await scene.said('off', { reason: 'VMPoweredOff' }, 'VMFound')
    await scene.until('it is silent', () => scene.ready('off') === 'Unknown')
    scene.joins('thief', { address: off.address })
    await refused(scene, 'thief', 'off')
    t.notOk(scene.isInitialized('thief'), 'whoever wants it has to wait')
    scene.world.api.putNode('off', undefined)
    await scene.settled('thief')
    t.equal(addressOf(scene, 'thief'), off.address, 'it is woken by that')
  },
)

scenario(
  'so does one whose kubelet says that it lives, whatever vCenter says',
  { nodes: ['alive', 'canary'], lifecycle },
  async (scene, t) => {
    scene.hide(scene.cast.alive)
    await scene.said('alive', { status: 'True', reason: 'DeletionOff', message: /is Ready/ })
    scene.joins('thief', { address: scene.cast.alive.address })
    const { message } = await refused(scene, 'thief', 'alive')
    t.match(message, /vCenter does not say whether Node alive has it: its VM is not found: see VMFound in/)
    await scene.probed(1, 'alive')
    await scene.said('alive', { message: /is Ready/ })
    t.notOk(scene.isInitialized('thief'))
  },
)

scenario(
  'somebody has said that it is his, and vCenter shows him elsewhere',
  { nodes: ['canary'] },
  async (scene, t) => {
    const address = '10.9.0.1'
    scene.joins('squatter', { squats: address, tools: true })
    await scene.settled('squatter')
    t.equal(addressOf(scene, 'squatter'), address, 'nobody else is there yet')
    scene.joins('owner', { address, tools: true })
    await scene.settled('owner')
    t.equal(addressOf(scene, 'owner'), address)
    await refused(scene, 'squatter', 'owner')
  },
)

scenario(
  'a clone of the vCenter does not show the same of him: the owner is told to remove it',
  { nodes: ['canary'] },
  async (scene, t) => {
    const { world, vCenter } = scene
    const address = '10.9.0.1'
    const { vm } = scene.joins('squatter', { squats: address, tools: true })
    await scene.settled('squatter')
    if (vm === undefined) throw new Error('it has a VM')
    const clone = world.cloneVCenter(vCenter, world.random)
    const shown = clone.register({ ...vm, shownPower: 'poweredOff', machine: undefined }, vm.moref)
    world.configFile.add(clone.name, vCenter.name)
    await scene.said('squatter', { reason: 'VCenterNotUnique' }, 'VMFound')
    scene.joins('owner', { address, tools: true })
    const message =
      /vCenter does not say whether Node squatter has it: .* on the power state of VM "squatter"; .*: remove the clone/
    await scene.said('owner', { reason: REFUSED, message }, 'AddressesResolved')
    await scene.pass(2 * MOVED)
    t.equal(addressOf(scene, 'squatter'), address, 'nothing is said against him')
    shown.shownPower = 'poweredOn'
    clone.changed(shown)
    await scene.settled('owner')
    t.equal(addressOf(scene, 'owner'), address, 'the clone is there, and shows him elsewhere as well')
  },
)

scenario(
  'a finalizer keeps the Node of one that is gone, and its vCenter was installed anew',
  { nodes: ['leaving', 'canary'], lifecycle },
  async (scene, t) => {
    const { leaving } = scene.cast
    const { vCenter, world } = scene
    world.api.setFinalizers('leaving', ['example.com/nobody-removes-it'])
    vCenter.reach = 'down'
    vCenter.endSessions()
    world.api.putNode('leaving', undefined)
    scene.destroy(leaving)
    await scene.pass(20_000)
    vCenter.reach = 'works'
    installAnew(world, vCenter)
    scene.joins('next', { address: leaving.address })
    await scene.settled('next')
    t.equal(addressOf(scene, 'next'), leaving.address)
    t.ok(scene.node('leaving'), 'it is still there')
  },
)

scenario(
  'the only VM of another vCenter is inaccessible, so nothing is proven by its search: it is said, until that VM is removed',
  { nodes: ['gone', 'canary'], lifecycle, second: 'empty' },
  async (scene, t) => {
    const { gone, canary } = scene.cast
    const [, other] = scene.world.vCenters
    if (other === undefined || canary.vm === undefined)
      throw new Error('there are a second vCenter, and a VM')
    for (const vm of [...other.vms.values()]) other.unregister(vm)
    const [folder = canary.vm.folder] = other.folders
    const lost = other.register({
      ...canary.vm,
      name: 'of-a-tenant',
      biosUUID: scene.world.random.uuid(),
      instanceUUID: scene.world.random.uuid(),
      folder,
      connectionState: 'inaccessible',
      shownPower: 'poweredOn',
      claim: undefined,
      machine: undefined,
      tenant: { reads: false },
    })
    scene.destroy(gone)
    scene.joins('next', { address: gone.address })
    await refused(scene, 'next', 'gone')
    const message = /vCenter vc-2: vCenter shows no connected VM, .* remove the entries of VMs that are lost/
    await scene.said('gone', { status: 'Unknown', reason: 'CanaryNotFound', message })
    await scene.until('it is silent', () => scene.ready('gone') === 'Unknown')
    await scene.probed(5, 'gone')
    t.notOk(scene.isInitialized('next'))
    judgeTheEnd(scene.world)

    other.unregister(lost)
    await scene.settled('next')
    t.equal(addressOf(scene, 'next'), gone.address)
  },
)
