/** VMs of people who make theirs pass for a Node's: with its UUID, its MAC address, and what they know of its claim. */
import { formatClaim } from '../../../agent/shared/node-report.ts'
import type { Machine, VM } from '../model/machine.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { Random } from '../random.ts'
import type { World } from '../world.ts'
import type { Fault, Faults } from './fault.ts'

/** What somebody knows of the VM that his own is to pass for. */
type Knowledge =
  /** Its UUID alone. */
  | 'uuid'
  /** All that anybody may know: a Node's UID and its boot ID are no secrets. */
  | 'public'
  /** He may read the VM in vCenter, and copies its claim as soon as it shows. */
  | 'reads'
  /** He could read it once, and repeats what it showed then. */
  | 'has-read'

/** How often he does something, milliseconds. */
const PACE = { least: 1_000, most: 40_000 }

const STATES: readonly Pick<VM, 'connectionState' | 'shownPower' | 'template'>[] = [
  { connectionState: 'connected', shownPower: 'poweredOn', template: false },
  { connectionState: 'connected', shownPower: 'poweredOn', template: false },
  { connectionState: 'connected', shownPower: 'poweredOn', template: false },
  { connectionState: 'connected', shownPower: 'poweredOff', template: false },
  { connectionState: 'connected', shownPower: 'suspended', template: false },
  { connectionState: 'inaccessible', shownPower: 'poweredOn', template: false },
  { connectionState: 'disconnected', shownPower: 'poweredOn', template: false },
  { connectionState: 'orphaned', shownPower: 'poweredOn', template: false },
  { connectionState: 'connected', shownPower: 'poweredOff', template: true },
]

/** What the claim of his VM says at this moment. */
function claimBy(knows: Knowledge, { nodeUID, bootID, vm }: Machine, random: Random): string | undefined {
  switch (knows) {
    case 'uuid':
      return undefined
    case 'public': {
      if (nodeUID === undefined) return undefined
      const nonce = random.uuid().replaceAll('-', '')
      return formatClaim({ nodeUID, bootID, ...(random.chance(0.3) ? { nonce } : {}) })
    }
    case 'reads':
    case 'has-read':
      return vm?.claim
  }
}

/** Whether no other VM of a vCenter has an instance UUID: only then may somebody give it to his. */
function hasRoomFor(instanceUUID: string, { vms }: VCenterModel): boolean {
  return [...vms.values()].every((vm) => vm.instanceUUID !== instanceUUID)
}

/** He may choose the instance UUID and, by chance, have the reference of the other, where those need not differ. */
function registerCopy(original: VM, vCenter: VCenterModel, knows: Knowledge, random: Random): VM {
  const same = vCenter === original.vCenter
  const sameInstance = hasRoomFor(original.instanceUUID, vCenter) && random.chance(0.4)
  const sameReference = !same && random.chance(0.3) && !vCenter.known.has(original.moref)
  return vCenter.register(
    {
      name: `${original.name}-of-a-tenant`,
      biosUUID: original.biosUUID,
      instanceUUID: sameInstance ? original.instanceUUID : random.uuid(),
      folder: random.pick(vCenter.folders),
      host: `host-${random.below(4)}`,
      connectionState: 'connected',
      shownPower: 'poweredOn',
      claim: undefined,
      template: false,
      mac: knows === 'uuid' ? '00:50:56:bb:00:02' : original.mac,
      machine: undefined,
      faultTolerance: undefined,
      standby: false,
      tenant: { reads: knows === 'reads' || knows === 'has-read' },
    },
    sameReference ? original.moref : undefined,
  )
}

/** Goes on until it is ended; most often nothing is left of it then. */
function pass({ random, timeline, vCenters }: World, machine: Machine, knows: Knowledge): () => void {
  const vCenter = random.pick(vCenters)
  let over = false
  let copy: VM | undefined
  let claim: string | undefined

  const show = (): void => {
    if (copy === undefined) return
    if (knows !== 'has-read' || claim === undefined) claim = claimBy(knows, machine, random) ?? claim
    copy.claim = claim
    copy.vCenter.changed(copy)
  }
  const act = (): void => {
    if (over) return
    const original = machine.vm ?? machine.lastVM
    if (copy === undefined) {
      if (original !== undefined) copy = registerCopy(original, vCenter, knows, random)
    } else if (random.chance(0.1)) {
      copy.vCenter.unregister(copy)
      copy = undefined
    } else if (random.chance(0.4)) Object.assign(copy, random.pick(STATES))
    else if (random.chance(0.3) && original !== undefined && hasRoomFor(original.instanceUUID, copy.vCenter))
      copy.instanceUUID = original.instanceUUID
    show()
    timeline.after(random.between(PACE.least, PACE.most), `a tenant goes on at ${machine.nodeName}`, act)
  }
  act()
  return () => {
    over = true
    if (copy !== undefined && random.chance(0.7)) copy.vCenter.unregister(copy)
  }
}

function tenant(knows: Knowledge): Fault {
  return (world, { machine }) => pass(world, machine, knows)
}

/** A machine that registers, and a tenant who has waited for it. */
function awaits(knows: Knowledge): Fault {
  return (world, { machine: { nodeName }, vCenter }) => {
    const { machines, random, timeline } = world
    const name = `${nodeName}-${machines.all.length}`
    const made = machines.create(name, vCenter, random.pick(vCenter.folders))
    made.claimDelay = random.pick([0, 20_000, 120_000])
    let end: (() => void) | undefined
    let over = false
    // Before its kubelet starts, before its agent reports, before its claim shows.
    timeline.after(random.pick([0, 4_000, 10_000, 30_000]), `a tenant has waited for ${name}`, () => {
      if (!over) end = pass(world, made, knows)
    })
    return () => {
      over = true
      made.claimDelay = 0
      end?.()
    }
  }
}

/**
 * A machine registers while no vCenter lists it, so that the VM of a tenant is taken for it. It shows its claim when it is
 * listed; the tenant's VM stays.
 */
const comesBeforeIt: Fault = (world, { machine: { nodeName }, vCenter }) => {
  const { machines, random, timeline } = world
  const name = `${nodeName}-${machines.all.length}`
  const made = machines.create(name, vCenter, random.pick(vCenter.folders))
  const { vm } = made
  if (vm === undefined) return undefined
  vCenter.unregister(vm)
  const copy = registerCopy(vm, random.pick(world.vCenters), 'public', random)
  timeline.after(random.between(9_000, 40_000), `${name} is listed`, () => {
    if (made.vm === undefined && !made.destroyed) machines.register(made, vCenter)
  })
  return () => {
    if (copy.vCenter.vms.get(copy.moref) === copy && random.chance(0.2)) copy.vCenter.unregister(copy)
  }
}

export const TENANT_FAULTS: Faults = {
  'tenant-has-uuid': tenant('uuid'),
  'tenant-knows-what-is-public': tenant('public'),
  'tenant-reads': tenant('reads'),
  'tenant-has-read': tenant('has-read'),
  'tenant-awaits-machine': awaits('public'),
  'tenant-who-reads-awaits-machine': awaits('reads'),
  'tenant-comes-before-machine': comesBeforeIt,
}
