// One VM is listed twice, or has another NIC than vCenter has said: its Node is what it was.
import { TAINT_SHUTDOWN } from '../../../controller/types/well-known.ts'
import type { VM } from '../model/machine.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'

/** Longer than it takes to notice something, and to read it again; milliseconds. */
const NOTICED = 30_000

function vmOf(scene: FixedScene<string>, name: string): VM {
  const { vm } = scene.members.find(({ nodeName }) => nodeName === name) ?? {}
  if (vm === undefined) throw new Error(`${name} has a VM`)
  return vm
}

scenario(
  'a NIC is replaced, and its agent reports that before vCenter says so',
  { nodes: ['worker', 'canary'] },
  async (scene, t) => {
    const { worker } = scene.cast
    const mac = '00:50:56:cc:00:01'
    vmOf(scene, 'worker').mac = mac
    worker.mac = mac
    scene.world.machines.report(worker)
    await scene.pass(NOTICED)
    t.equal(scene.status('worker')?.identityLevel, 'proven')
    t.equal(scene.condition('worker', 'IdentityVerified')?.status, 'True')
    t.same(scene.events('worker', 'MACsContradict'), [])
  },
)

// Of a VM that the Node is not bound to yet nothing is read sooner than in full.
scenario(
  'a NIC is replaced while the VM moves to another vCenter',
  { nodes: ['worker', 'canary'], second: 'empty' },
  async (scene, t) => {
    const { worker } = scene.cast
    const { machines, vCenters } = scene.world
    const [, other] = vCenters
    if (other === undefined) throw new Error('there is a second vCenter')
    scene.hide(worker)
    machines.register(worker, other)
    await scene.said('worker', { reason: 'UUIDOfAnotherVM', message: /in vCenter vc-2 has its/ }, 'VMFound')
    const mac = '00:50:56:cc:00:01'
    vmOf(scene, 'worker').mac = mac
    worker.mac = mac
    machines.report(worker)
    const bound = () => scene.status('worker')?.vm?.moref === vmOf(scene, 'worker').moref
    await scene.until('it is bound there', bound)
    t.equal(scene.status('worker')?.identityLevel, 'proven')
  },
)

for (const [what, tenant, level] of [
  ['nobody copies it', undefined, 'proven'],
  ['a tenant copies what is public', { reads: false }, 'proven'],
  // Two show the claim now: what was proven is so again.
  ['a tenant copies its claim as well', { reads: true }, 'proven'],
] as const)
  scenario(
    `a NIC is replaced, vCenter says so before its agent reports that, and ${what}`,
    { nodes: ['worker', 'canary'] },
    async (scene, t) => {
      const { worker } = scene.cast
      const vm = vmOf(scene, 'worker')
      if (tenant !== undefined)
        vm.vCenter.register({
          ...vm,
          name: `${vm.name}-of-a-tenant`,
          instanceUUID: 'dddddddd-4444-4555-8666-777777777777',
          shownPower: 'poweredOn',
          claim: tenant.reads ? vm.claim : undefined,
          machine: undefined,
          tenant,
        })
      await scene.pass(NOTICED)
      worker.agent = false
      const mac = '00:50:56:cc:00:01'
      vm.mac = mac
      worker.mac = mac
      // Another one reads all of vCenter first.
      await scene.nextLeader()
      await scene.said('worker', { reason: 'MACsContradict' }, 'IdentityVerified')
      t.equal(scene.status('worker')?.vm?.moref, vm.moref)
      worker.agent = true
      scene.world.machines.report(worker)
      await scene.pass(NOTICED)
      t.equal(scene.status('worker')?.vm?.moref, vm.moref)
      t.equal(scene.status('worker')?.identityLevel, level)
    },
  )

// The clone shows the NIC before, for good.
scenario(
  'a NIC is replaced, its VM is unregistered, and a clone of its vCenter still shows it',
  { nodes: ['worker', 'canary'] },
  async (scene, t) => {
    const { world, vCenter } = scene
    const { worker } = scene.cast
    const clone = world.cloneVCenter(vCenter, world.random)
    for (const vm of vCenter.vms.values())
      clone.register({ ...vm, shownPower: 'poweredOn', machine: undefined }, vm.moref)
    world.configFile.add(clone.name, vCenter.name)
    await scene.pass(2 * NOTICED)
    const mac = '00:50:56:cc:00:01'
    vmOf(scene, 'worker').mac = mac
    worker.mac = mac
    world.machines.report(worker)
    await scene.pass(NOTICED)
    scene.hide(worker)
    const lost = new RegExp(`${clone.name} and vc-1 report the same instance UUID, but vc-1 does not show VM`)
    await scene.said('worker', { reason: 'VCenterNotUnique', message: lost }, 'VMFound')
    t.equal(scene.status('worker')?.identityLevel, 'proven')
    t.same(scene.events('worker', 'MACsContradict'), [])
    scene.show(worker)
    const bound = () => scene.status('worker')?.vm?.moref === vmOf(scene, 'worker').moref
    await scene.until('it is bound to the new entry', bound)
    t.equal(scene.status('worker')?.identityLevel, 'proven')
  },
)

for (const state of ['orphaned', 'invalid'] as const)
  scenario(
    `its entry is ${state}, and the VM runs by another one`,
    { nodes: ['worker', 'canary'] },
    async (scene, t) => {
      const { worker } = scene.cast
      const before = vmOf(scene, 'worker')
      before.connectionState = state
      before.leftAt = scene.world.timeline.now
      before.vCenter.changed(before)
      const vm = before.vCenter.registerTwice({ ...before, connectionState: 'connected' })
      await scene.until('its Node is the new entry', () => scene.status('worker')?.vm?.moref === vm.moref)
      t.equal(scene.status('worker')?.identityLevel, 'proven')
      scene.world.machines.halt(worker, 'poweredOff')
      await scene.until(
        'the new one says whether it runs',
        () => scene.node('worker')?.spec.taints.some(({ key }) => key === TAINT_SHUTDOWN) === true,
      )
    },
  )

for (const [state, as] of [
  ['disconnected', {}],
  // What is registered again may get another.
  ['orphaned', { instanceUUID: 'dddddddd-4444-4555-8666-777777777777' }],
] as const)
  scenario(
    `a new Node, whose VM has an entry that is ${state} besides`,
    { nodes: ['canary'] },
    async (scene, t) => {
      const machine = scene.joins('new')
      // What cannot show a claim leaves it to vCenter.
      machine.claims = 'nothing'
      const { vm } = machine
      if (vm === undefined) throw new Error('it has a VM')
      const shown = { connectionState: state, shownPower: 'poweredOn', machine: undefined } as const
      vm.vCenter.registerTwice({ ...vm, ...shown, ...as })
      await scene.settled('new')
      t.equal(scene.status('new')?.vm?.moref, vm.moref)
    },
  )

scenario(
  'a VM is registered again while a tenant has its instance UUID, until that is removed',
  { nodes: ['worker', 'canary'] },
  async (scene, t) => {
    const { worker } = scene.cast
    const before = vmOf(scene, 'worker')
    const { vCenter } = before
    scene.hide(worker)
    const tenants = vCenter.register({
      ...before,
      name: 'of-a-tenant',
      shownPower: 'poweredOff',
      claim: undefined,
      mac: '00:50:56:bb:00:02',
      machine: undefined,
      tenant: { reads: false },
    })
    scene.show(worker)
    const vm = vmOf(scene, 'worker')
    t.equal(tenants.instanceUUID, before.instanceUUID)
    t.not(vm.instanceUUID, before.instanceUUID)
    const named = new RegExp(
      `; for that, remove VM "of-a-tenant".* kubectl annotate node worker rollcall.dev/vm=${vm.instanceUUID}$`,
    )
    await scene.said('worker', { reason: 'UUIDOfAnotherVM', message: named }, 'VMFound')
    await scene.probed(5, 'worker')
    t.equal(scene.status('worker')?.vm?.moref, before.moref)
    t.equal(scene.status('worker')?.identityLevel, 'proven')
    vCenter.unregister(tenants)
    await scene.until('it is bound to the new entry', () => scene.status('worker')?.vm?.moref === vm.moref)
    t.equal(scene.status('worker')?.identityLevel, 'proven')
  },
)

scenario(
  'a tenant who reads a new VM copies its claim in another vCenter, which pushes it first',
  { nodes: ['worker', 'canary'], second: 'one' },
  async (scene, t) => {
    const { vCenters } = scene.world
    const [own, other] = vCenters
    const [folder] = other?.folders ?? []
    if (own === undefined || other === undefined || folder === undefined)
      throw new Error('there is a second vCenter')
    const joined = scene.joins('new')
    joined.claimDelay = 20_000
    const { vm } = joined
    if (vm === undefined) throw new Error('it has a VM')
    const copy = other.register({
      ...vm,
      name: 'of-a-tenant',
      folder,
      shownPower: 'poweredOn',
      machine: undefined,
      tenant: { reads: true },
    })
    await scene.said('new', { reason: 'AmbiguousUUID' }, 'VMFound')
    own.pushLost = 1
    await scene.until('it shows its claim', () => vm.claim !== undefined)
    await scene.pass(1_000)
    copy.claim = vm.claim
    other.changed(copy)
    await scene.pass(NOTICED)
    t.equal(scene.status('new')?.vm, undefined)
    await scene.said('new', { reason: 'AmbiguousUUID' }, 'VMFound')
    own.pushLost = 0
    other.unregister(copy)
    await scene.until('it is its own VM', () => scene.status('new')?.vm?.moref === vm.moref)
  },
)
