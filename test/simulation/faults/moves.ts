/** What people do with machines in ordinary operation that makes a Node another VM, and what agents do with claims. */
import type { Machine, VM } from '../model/machine.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { World } from '../world.ts'
import { isCloned } from './clones.ts'
import type { Fault, Faults } from './fault.ts'

/** Milliseconds that a claim takes to show, at most. */
const LATE = 240_000

/** The machine boots as another VM, with the disks of the one before. That one stays, off. */
function bootElsewhere({ machines, random, vCenters }: World, machine: Machine): void {
  const { vm } = machine
  if (vm === undefined || machine.destroyed || machine.power === 'poweredOn') return
  const vCenter = random.pick(vCenters)
  // What is restored has no memory.
  machine.power = 'poweredOff'
  const instanceUUID = vCenter !== vm.vCenter && random.chance(0.5) ? vm.instanceUUID : random.uuid()
  machines.leave(machine)
  machines.register(machine, vCenter, { instanceUUID })
  machines.boot(machine)
}

/** The entry that stayed behind is destroyed, or it stays for good, or its machine is brought back to it. */
function settle({ machines, random }: World, machine: Machine, before: VM): void {
  const { vm } = machine
  if (before.leftAt === undefined || before.vCenter.vms.get(before.moref) !== before) return
  switch (random.pick(['destroyed', 'kept', 'back'] as const)) {
    case 'destroyed':
      before.vCenter.unregister(before)
      break
    case 'kept':
      break
    case 'back':
      if (vm === undefined || machine.destroyed || vm === before) return
      machines.halt(machine, 'poweredOff')
      machines.leave(machine)
      machines.enter(machine, before)
      machines.boot(machine)
  }
}

/** A replica of the VM is started, or a backup of it restored, while the VM itself is off. */
const failedOver: Fault = (world, { machine }) => {
  const { machines, random, timeline } = world
  const { vm } = machine
  if (vm === undefined || vm.template || vm.faultTolerance !== undefined) return undefined
  machines.halt(machine, 'poweredOff')
  timeline.after(
    random.pick([0, 5_000, 60_000]) + random.between(0, 60_000),
    `${machine.nodeName} fails over`,
    () => {
      if (machine.vm === vm) bootElsewhere(world, machine)
    },
  )
  return () => settle(world, machine, vm)
}

/** The same, after the whole site went away. */
const siteLost: Fault = (world, { machine, vCenter }) => {
  const { machines, random, timeline } = world
  const { vm } = machine
  if (vm === undefined || vm.template || vm.faultTolerance !== undefined || vm.vCenter !== vCenter)
    return undefined
  machines.halt(machine, 'poweredOff')
  vCenter.reach = 'down'
  vCenter.breakWaits()
  timeline.after(random.between(10_000, 120_000), `${machine.nodeName} fails over`, () => {
    if (machine.vm === vm) bootElsewhere(world, machine)
  })
  return () => {
    vCenter.reach = 'works'
    settle(world, machine, vm)
  }
}

/** The same VMs in a vCenter that says it is another, in which nobody is logged in. */
export function installAnew({ machines, random }: World, vCenter: VCenterModel): void {
  vCenter.endSessions()
  vCenter.instanceUUID = random.uuid()
  for (const vm of [...vCenter.vms.values()]) {
    vCenter.unregister(vm)
    const { machine } = vm
    if (machine === undefined) vCenter.register(vm)
    else if (machine.vm === undefined) machines.register(machine, vCenter)
  }
}

export const MOVE_FAULTS: Faults = {
  'failed-over': failedOver,
  'site-lost': siteLost,
  'vcenter-installed-anew'(world, { vCenter }) {
    const { timeline, random } = world
    // Who is in a group of two, or stayed behind, has two entries; that takes more than a new list.
    const simple = [...vCenter.vms.values()].every(
      (vm) =>
        vm.faultTolerance === undefined && vm.leftAt === undefined && vm.connectionState === 'connected',
    )
    if (!simple || vCenter.impostor !== undefined || isCloned(world, vCenter)) return undefined
    vCenter.reach = 'down'
    vCenter.endSessions()
    timeline.after(random.between(5_000, 60_000), `${vCenter.name} is installed anew`, () => {
      vCenter.reach = 'works'
      // Somebody has restored the old one, or copied it.
      if (isCloned(world, vCenter)) return
      installAnew(world, vCenter)
    })
    return undefined
  },
  /** It moves, and the new vCenter tells nobody. */
  'vm-moved-untold'({ machines, vCenters, random }, { machine }) {
    const { vm } = machine
    const other = vCenters.find((each) => each !== vm?.vCenter)
    if (vm === undefined || other === undefined) return undefined
    vm.vCenter.unregister(vm)
    const { pushLost } = other
    other.pushLost = 1
    machines.register(machine, other, random.chance(0.5) ? {} : { instanceUUID: random.uuid() })
    return () => {
      other.pushLost = pushLost
    }
  },
  /** A person says which VM the Node is, and is right. */
  'vm-annotated'({ nameVM, random }, { machine }) {
    if (machine.vm === undefined) return undefined
    nameVM(machine.nodeName, machine.vm.instanceUUID)
    return () => {
      if (random.chance(0.6)) nameVM(machine.nodeName, undefined)
    }
  },
  'rebooted-with-late-claim'({ machines, random, timeline }, { machine }) {
    const before = machine.claimDelay
    machine.claimDelay = random.between(5_000, LATE)
    let over = false
    const reboot = (): void => {
      if (over) return
      if (machine.power === 'poweredOn') machines.boot(machine)
      timeline.after(random.between(20_000, 200_000), `${machine.nodeName} reboots`, reboot)
    }
    reboot()
    return () => {
      over = true
      machine.claimDelay = before
    }
  },
  /** Somebody forbids the guest to write to guestinfo, for good. */
  'claims-forbidden'({ machines }, { machine }) {
    machine.claims = 'nothing'
    machines.restartAgent(machine)
    return undefined
  },
  'agent-restarted'({ machines }, { machine }) {
    machines.restartAgent(machine)
    return undefined
  },
  /** A release before nonces, for a while. */
  'agent-of-older-release'({ machines }, { machine }) {
    const { claims } = machine
    if (claims === 'nothing') return undefined
    machine.claims = 'without-nonce'
    machines.restartAgent(machine)
    return () => {
      machine.claims = 'with-nonce'
      machines.restartAgent(machine)
    }
  },
}
