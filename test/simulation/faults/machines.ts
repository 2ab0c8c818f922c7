/** What becomes of machines and of their VMs. */
import { OWNER, OWNERS } from '../model/label-sources.ts'
import type { Machine, VM } from '../model/machine.ts'
import type { World } from '../world.ts'
import type { Fault, Faults, Focus } from './fault.ts'

const NOT_CONNECTED = ['orphaned', 'invalid', 'inaccessible', 'disconnected'] as const

/** In a rolling replacement, a worker is destroyed so long after the one before, or longer; milliseconds. */
export const REPLACED_APART = 25_000
/** How long one waits for its successor, and by how much longer than another at most; milliseconds. */
const [JOINS, LATER] = [20_000, 10_000]

function silence(change: (machine: Machine, on: boolean) => void): Fault {
  return (_, { machine }) => {
    change(machine, true)
    return () => change(machine, false)
  }
}

/** To the machine that was made under the name of this one. */
function toSuccessor(fault: Fault): Fault {
  return (world, focus) => {
    const { nodeName } = focus.machine
    const machine = world.machines.all.findLast((each) => each.nodeName === nodeName)
    return machine === undefined || machine.destroyed ? undefined : fault(world, { ...focus, machine })
  }
}

/** Takes the VM off the list; puts it back at the end, where nobody else has. */
function unregister(world: World, { machine, vCenter }: Focus, back: () => void): (() => void) | undefined {
  const { vm } = machine
  if (vm === undefined) return undefined
  vm.vCenter.unregister(vm)
  return () => {
    if (machine.vm === undefined && !machine.destroyed) {
      world.machines.register(machine, vCenter)
      back()
    }
  }
}

/** Takes the VM off the list, and puts it back soon with something changed. */
function relist(
  world: World,
  { machine }: Focus,
  change: () => Parameters<World['machines']['register']>[2],
): undefined {
  const { vm } = machine
  if (vm === undefined) return undefined
  vm.vCenter.unregister(vm)
  world.timeline.after(
    world.random.pick([0, 10, 5_000, 40_000, 60_000]),
    `${vm.name} is registered again`,
    () => {
      if (machine.vm === undefined && !machine.destroyed)
        world.machines.register(machine, vm.vCenter, change())
    },
  )
  return undefined
}

function change(vm: Machine['vm'], set: (vm: NonNullable<Machine['vm']>) => void): void {
  if (vm === undefined || vm.vCenter.vms.get(vm.moref) !== vm) return
  set(vm)
  vm.vCenter.changed(vm)
}

function connection(state: 'inaccessible' | 'disconnected'): Fault {
  return ({ random }, { machine }) => {
    const { vm } = machine
    // The last that vCenter knew may be long ago.
    const shown = random.pick([machine.power, 'poweredOff', 'poweredOn'] as const)
    change(vm, (vm) => {
      vm.connectionState = state
      vm.shownPower = shown
    })
    return () =>
      change(vm, (vm) => {
        vm.connectionState = 'connected'
        vm.shownPower = undefined
      })
  }
}

function off(power: 'poweredOff' | 'suspended'): Fault {
  return ({ machines }, { machine }) => {
    machines.halt(machine, power)
    return () => {
      if (machine.power === power) machines.boot(machine)
    }
  }
}

const destroyed: Fault = ({ machines }, { machine }) => {
  machines.destroy(machine)
  return undefined
}

export const MACHINE_FAULTS: Faults = {
  'vm-destroyed': destroyed,
  /** A machine registers, most often reports, and is destroyed before any vCenter has shown it. */
  'destroyed-unseen'({ machines, random, timeline }, { machine: { nodeName }, vCenter }) {
    const made = machines.create(`${nodeName}-${machines.all.length}`, vCenter, random.pick(vCenter.folders))
    if (made.vm !== undefined) vCenter.unregister(made.vm)
    made.agent = random.chance(0.7)
    timeline.after(random.between(9_000, 40_000), `${made.nodeName} is destroyed`, () =>
      machines.destroy(made),
    )
    return undefined
  },
  /**
   * A worker is destroyed and cloned anew under its name where no configured vCenter knows of it. The new kubelet takes the
   * Node over, and then this machine is destroyed, too.
   */
  'taken-over-unseen'({ machines, random, timeline }, { machine, vCenter }) {
    const { vm, nodeName } = machine
    if (vm === undefined) return undefined
    machines.destroy(machine)
    timeline.after(random.between(0, 30_000), `${nodeName} is made again`, () => {
      const made = machines.create(nodeName, vCenter, vm.folder)
      if (made.vm !== undefined) vCenter.unregister(made.vm)
      timeline.after(random.between(9_000, 40_000), `${nodeName} is destroyed again`, () =>
        machines.destroy(made),
      )
    })
    return undefined
  },
  /** A Node of another provider, for which no agent reports, loses its VM while vCenter hangs, so that nobody is told. */
  'unreported-lost-in-hanging'({ machines, random, timeline }, { machine: { nodeName }, vCenter }) {
    const name = `${nodeName}-${machines.all.length}`
    const made = machines.create(name, vCenter, random.pick(vCenter.folders), { migrated: true })
    let over = false
    timeline.after(random.between(10_000, 30_000), `vCenter ${vCenter.name} hangs`, () => {
      if (over) return
      vCenter.reach = 'hangs'
      vCenter.breakWaits()
      machines.destroy(made)
    })
    return () => {
      over = true
      vCenter.reach = 'works'
    }
  },
  /** Another provider's Node, for which no agent reports, is silent; its UUID is in the other byte order. */
  'unreported-silent'({ machines, random, timeline }, { machine: { nodeName }, vCenter }) {
    const name = `${nodeName}-${machines.all.length}`
    const options = { migrated: true, swapped: true } as const
    const made = machines.create(name, vCenter, random.pick(vCenter.folders), options)
    let over = false
    timeline.after(random.between(10_000, 30_000), `${name} falls silent`, () => {
      made.linked = over
    })
    return () => {
      over = true
      made.linked = true
    }
  },
  /** A new worker is verified and destroyed, and its volumes stay until it is called out of service. */
  'destroyed-with-volumes'({ machines, api, random, timeline }, { machine: { nodeName }, vCenter }) {
    const name = `${nodeName}-${machines.all.length}`
    const made = machines.create(name, vCenter, random.pick(vCenter.folders))
    timeline.after(random.between(20_000, 30_000), `${name} is destroyed`, () => {
      api.volumesChangedAt = timeline.now
      api.attachments.set(name, 1 + random.below(3))
      machines.destroy(made)
    })
    return undefined
  },
  /** Workers that are destroyed one after the other, each when the one before is gone for a while. */
  'workers-replaced'(world, { vCenter }) {
    const { machines, timeline, random } = world
    const going = machines.all.filter(({ vm }) => vm?.vCenter === vCenter).slice(1, 2 + random.below(4))
    for (const [index, machine] of going.entries())
      timeline.after(index * random.between(61_000, 90_000), `${machine.nodeName} is replaced`, () =>
        machines.destroy(machine),
      )
    return undefined
  },
  /**
   * As Cluster API replaces workers, in the order of its Machine controller: a new machine first, then the old one is
   * cordoned, powered off and destroyed, and its Node is deleted: soon, or when Rollcall has been there long before.
   */
  'rolling-replacement'(world, { vCenter }) {
    const { machines, api, timeline, random, settings } = world
    const workers = machines.all.filter(({ vm }) => vm?.vCenter === vCenter).slice(1, 3 + random.below(4))
    let start = 0
    for (const machine of workers) {
      const { nodeName, vm } = machine
      const deletes = (): void => {
        if (api.nodes.get(nodeName)?.metadata.uid === machine.nodeUID) api.putNode(nodeName, undefined)
      }
      const destroys = (): void => {
        const node = api.nodes.get(nodeName)
        const taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }
        if (node !== undefined)
          api.putNode(nodeName, { ...node, spec: { ...node.spec, taints: [...node.spec.taints, taint] } })
        machines.halt(machine, 'poweredOff')
        machines.destroy(machine)
        const slow = 3 * settings.lifecycle.absentFor + settings.lifecycle.leaderAge
        timeline.after(random.pick([1_000, slow, slow]), `the Node of ${nodeName} is deleted`, deletes)
      }
      timeline.after(start, `${nodeName} gets a successor`, () => {
        if (vm === undefined || machine.vm !== vm) return
        machines.create(`${nodeName}-${machines.all.length}`, vCenter, vm.folder)
        timeline.after(random.between(JOINS, JOINS + LATER), `${nodeName} is destroyed`, destroys)
      })
      start += REPLACED_APART + random.between(LATER, LATER + 5_000)
    }
    return undefined
  },
  /** An autoscaler removes most of a group at once, as its taint says. */
  'scaled-down'(world, { vCenter }) {
    const { machines, api, random } = world
    const going = machines.all.filter(({ vm }) => vm?.vCenter === vCenter && random.chance(0.6))
    for (const machine of going) {
      const node = api.nodes.get(machine.nodeName)
      if (node === undefined) continue
      const taint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1767225600', effect: 'NoSchedule' }
      api.putNode(machine.nodeName, { ...node, spec: { ...node.spec, taints: [...node.spec.taints, taint] } })
      machines.destroy(machine)
    }
    return undefined
  },
  'vm-unregistered-running': (world, focus) => unregister(world, focus, () => undefined),
  /** Nobody registers it again, and it runs on; at most one in each vCenter, lest vCenter be in doubt forever. */
  'vm-unregistered-for-good'({ machines }, { machine: { vm } }) {
    const lost = machines.all.some(
      (each) => !each.destroyed && each.vm === undefined && each.lastVM?.vCenter === vm?.vCenter,
    )
    // One that shows nothing at all would be in doubt forever, too.
    const others = [...(vm?.vCenter.vms.values() ?? [])].some((each) => each.machine === undefined)
    if (vm !== undefined && others && !lost) vm.vCenter.unregister(vm)
    return undefined
  },
  'vm-unregistered-off'(world, focus) {
    const { machines } = world
    machines.halt(focus.machine, 'poweredOff')
    return unregister(world, focus, () => machines.boot(focus.machine))
  },
  'vm-registered-again': (world, focus) => relist(world, focus, () => ({})),
  'vm-registered-with-other-bios-uuid': (world, focus) =>
    relist(world, focus, () => ({ biosUUID: world.random.uuid() })),
  'vm-registered-with-other-instance-uuid': (world, focus) =>
    relist(world, focus, () => ({ instanceUUID: world.random.uuid() })),
  'vm-moved-to-other-vcenter'(world, { machine }) {
    const { vm } = machine
    const other = world.vCenters.find((each) => each !== vm?.vCenter)
    if (vm === undefined || other === undefined) return undefined
    vm.vCenter.unregister(vm)
    // A migration keeps the instance UUID, a copy that is started instead does not.
    world.machines.register(
      machine,
      other,
      world.random.chance(0.5) ? {} : { instanceUUID: world.random.uuid() },
    )
    return undefined
  },
  'vm-moved'({ random }, { machine }) {
    change(machine.vm, (vm) => {
      vm.folder = random.pick(vm.vCenter.folders)
      vm.host = `host-${random.below(4)}`
      vm.pool = random.pick(['resgroup-8', 'resgroup-9'])
    })
    return undefined
  },
  /** A person writes another value into a custom attribute, or none. */
  'attribute-changed'({ random }, { machine }) {
    const before = machine.vm?.attributes
    if (before === undefined) return undefined
    const set = (attributes: typeof before): void =>
      change(machine.vm, (vm) => {
        vm.attributes = attributes
      })
    set(random.chance(0.4) ? {} : { [OWNER]: random.pick(OWNERS) })
    return () => set(before)
  },
  'vm-copied'(_, { machine }) {
    const { vm } = machine
    if (vm === undefined) return undefined
    const { instanceUUID: __, ...copy } = vm
    const made = vm.vCenter.register({
      ...copy,
      instanceUUID: `${vm.instanceUUID.slice(0, -2)}ff`,
      name: `${vm.name}-copy`,
      mac: '00:50:56:bb:00:01',
      machine: undefined,
    })
    return () => made.vCenter.unregister(made)
  },
  /** Its vCenter pushes no change of vNICs; the guest sees the new one at once. */
  'nic-replaced'({ machines, vCenters, random, timeline }, { machine }) {
    const mac = `00:50:56:cc:${random.uuid().slice(0, 2)}:${random.uuid().slice(0, 2)}`
    for (const { vms } of vCenters)
      for (const vm of vms.values()) if (vm.machine === machine && vm.leftAt === undefined) vm.mac = mac
    if (machine.lastVM !== undefined) machine.lastVM.mac = mac
    machine.mac = mac
    timeline.after(random.pick([0, 500, 5_000]), `${machine.nodeName} reports its NIC`, () =>
      machines.report(machine),
    )
    return undefined
  },
  /** A second entry of the VM, which no host runs, as hosts or storage leave it behind that come back. */
  'dead-entry-beside'({ random }, { machine: { vm } }) {
    if (vm === undefined || vm.faultTolerance !== undefined || vm.template) return undefined
    const entry = vm.vCenter.registerTwice({
      ...vm,
      connectionState: random.pick(NOT_CONNECTED),
      shownPower: random.pick(['poweredOn', 'poweredOff'] as const),
      claim: random.chance(0.5) ? vm.claim : undefined,
      machine: undefined,
    })
    return () => entry.vCenter.unregister(entry)
  },
  /** The machine goes on by a second entry, and its first is dead. */
  'entry-replaced'({ random, timeline }, { machine }) {
    const { vm } = machine
    if (vm === undefined || vm.faultTolerance !== undefined || vm.template || machine.power !== 'poweredOn')
      return undefined
    vm.leftAt = timeline.now
    change(vm, (vm) => {
      vm.connectionState = random.pick(NOT_CONNECTED)
    })
    vm.vCenter.registerTwice({ ...vm, connectionState: 'connected' })
    return () => vm.vCenter.unregister(vm)
  },
  /** A secondary beside the VM, and a failover to it now and then. */
  'fault-tolerant'({ random, timeline }, { machine }) {
    const { vm } = machine
    if (vm === undefined || vm.faultTolerance !== undefined) return undefined
    const secondary = vm.vCenter.register({ ...vm, instanceUUID: random.uuid(), standby: true })
    const group = [vm, secondary]
    const instanceUUIDs = group.map(({ instanceUUID }) => instanceUUID)
    const lead = (primary: VM): void => {
      primary.standby = false
      machine.vm = primary
      machine.lastVM = primary
      for (const each of group)
        change(each, (each) => {
          each.faultTolerance = { role: each === primary ? 1 : 2, instanceUUIDs }
        })
    }
    lead(vm)
    for (const [index, primary] of [secondary, vm].entries()) {
      timeline.after((index + random.next()) * 40_000, `${machine.nodeName} fails over`, () => {
        if (machine.vm !== undefined && group.every((each) => each.vCenter.vms.has(each.moref))) lead(primary)
      })
    }
    return () => {
      const kept = machine.destroyed ? undefined : machine.vm
      for (const each of group)
        if (each !== kept && vm.vCenter.vms.get(each.moref) === each) vm.vCenter.unregister(each)
      // Whichever is left, or is registered again later, stands by for nobody now.
      for (const each of new Set([kept, machine.lastVM])) {
        if (each === undefined) continue
        each.faultTolerance = undefined
        each.standby = false
        change(each, () => undefined)
      }
    }
  },
  /** Powered off and marked as a template; at the end it is a VM again, most often. */
  'vm-becomes-template'({ machines, vCenters, random }, { machine }) {
    if (machine.power === 'suspended') return undefined
    const mark = (template: boolean): void => {
      for (const { vms } of vCenters)
        for (const vm of vms.values())
          if (vm.machine === machine)
            change(vm, (vm) => {
              vm.template = template
            })
      // It may be unregistered just now, and come back as what it was.
      if (machine.lastVM !== undefined) machine.lastVM.template = template
    }
    machines.halt(machine, 'poweredOff')
    mark(true)
    return () => {
      if (random.chance(0.4)) return
      mark(false)
      if (machine.power === 'poweredOff') machines.boot(machine)
    }
  },
  'bios-uuid-changed'({ random }, { machine }) {
    const { vm } = machine
    const before = vm?.biosUUID
    if (before === undefined) return undefined
    change(vm, (vm) => {
      vm.biosUUID = random.uuid()
    })
    return () =>
      change(vm, (vm) => {
        vm.biosUUID = before
      })
  },
  'vm-inaccessible': connection('inaccessible'),
  'host-disconnected': connection('disconnected'),
  'powered-off': off('poweredOff'),
  suspended: off('suspended'),
  rebooted({ machines }, { machine }) {
    if (machine.power === 'poweredOn') machines.boot(machine)
    return undefined
  },
  'recreated-under-same-name'({ machines, random, timeline, api }, { machine, vCenter }) {
    const { vm, nodeName } = machine
    if (vm === undefined) return undefined
    machines.destroy(machine)
    const deletes = random.chance(0.5)
    timeline.after(random.between(0, 30_000), `${nodeName} is made again`, () => {
      if (deletes) api.putNode(nodeName, undefined)
      machines.create(nodeName, vCenter, random.chance(0.5) ? vm.folder : random.pick(vCenter.folders))
    })
    return undefined
  },
  'all-silent'({ machines }, { vCenter }) {
    const all = machines.all.filter(({ vm }) => vm?.vCenter === vCenter)
    for (const machine of all) machine.linked = false
    return () => {
      for (const machine of all) machine.linked = true
    }
  },
  'successor-destroyed': toSuccessor(destroyed),
  'successor-off': toSuccessor(off('poweredOff')),
  'successor-inaccessible': toSuccessor(connection('inaccessible')),
  'replaced-at-its-address'({ machines, random, timeline }, { machine, vCenter }) {
    const { vm, nodeName, address } = machine
    if (vm === undefined) return undefined
    machines.destroy(machine)
    timeline.after(random.pick([0, 10_000, 100_000]), `another takes the place of ${nodeName}`, () => {
      // By a name that nobody has taken until then.
      machines.create(`${nodeName}-${machines.all.length}`, vCenter, vm.folder, { address })
    })
    return undefined
  },
  /** A lease ends: it gets another address, and somebody else may get the one that it had. */
  'address-changed'({ machines, random, timeline }, { machine }) {
    const { address } = machine
    if (machine.power !== 'poweredOn') return undefined
    machines.readdress(machine)
    const next = random.pick(machines.all)
    timeline.after(random.pick([0, 1_000, 30_000]), `${next.nodeName} may get ${address}`, () => {
      if (next.power === 'poweredOn' && next.squats === undefined && random.chance(0.5))
        machines.readdress(next, address)
    })
    return undefined
  },
  /** Two new workers with one address, whose agents report within a moment of each other. */
  'two-at-one-address'({ machines, random, timeline }, { machine: { nodeName }, vCenter }) {
    const folder = random.pick(vCenter.folders)
    const make = (address?: string): Machine => {
      const name = `${nodeName}-${machines.all.length}`
      const made = machines.create(name, vCenter, folder, address === undefined ? {} : { address })
      made.agent = false
      return made
    }
    const first = make()
    const second = make(first.address)
    timeline.after(random.between(10_000, 30_000), 'two agents start', () => {
      for (const each of [first, second])
        timeline.after(random.pick([0, 10, 100, 500]), `the agent of ${each.nodeName} reports`, () => {
          each.agent = true
          machines.report(each)
        })
    })
    return () => machines.destroy(second)
  },
  /** The agent of a new worker reports an address that another is to have; VMware Tools report its own. */
  'address-squatted'({ machines, random, timeline }, { machine: { nodeName }, vCenter }) {
    const folder = random.pick(vCenter.folders)
    const name = `${nodeName}-${machines.all.length}`
    const address = `10.9.${machines.all.length}.1`
    const squatter = machines.create(name, vCenter, folder, { squats: address, tools: true })
    timeline.after(random.between(5_000, 40_000), `the owner of ${address} joins`, () =>
      machines.create(`${name}-owner`, vCenter, folder, { address, tools: true }),
    )
    return () => {
      squatter.squats = undefined
      machines.report(squatter)
    }
  },
  'kubelet-dead': silence((machine, on) => {
    machine.kubelet = !on
  }),
  'kubelet-not-ready': silence((machine, on) => {
    machine.ready = !on
  }),
  'agent-dead': silence((machine, on) => {
    machine.agent = !on
  }),
  'node-cut-off': silence((machine, on) => {
    machine.linked = !on
  }),
  'reports-late': silence((machine, on) => {
    machine.reportDelay = on ? 20_000 : 0
  }),
  'report-contradicts'({ machines }, { machine }) {
    machine.forged = true
    machines.report(machine)
    return () => {
      machine.forged = false
    }
  },
}
