/** What goes wrong with a vCenter, or with the account that reads it. */
import { FOREIGN_CATEGORIES, rackOf, zoneOf } from '../model/tagging.ts'
import { hostOf, ROOT } from '../model/values.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { World } from '../world.ts'
import { isCloned } from './clones.ts'
import type { Faults } from './fault.ts'

/** Milliseconds after which a refused credential is tried again. */
const LONGEST_PAUSE = 1_800_000

function reach(vCenter: VCenterModel, state: VCenterModel['reach']): () => void {
  vCenter.reach = state
  vCenter.breakWaits()
  return () => {
    vCenter.reach = 'works'
  }
}

/** What is below has privileges of its own, so that nothing is hidden. */
function denyRoot(vCenters: readonly VCenterModel[]): () => void {
  for (const { denied } of vCenters) denied.add(ROOT)
  return () => {
    for (const { denied } of vCenters) denied.delete(ROOT)
  }
}

/** Takes a share of the Nodes' VMs off the list; puts them back at the end. */
function restore({ random, machines }: World, vCenter: VCenterModel, share: number): () => void {
  const lost = [...vCenter.vms.values()].filter(
    ({ machine }) => machine !== undefined && random.chance(share),
  )
  // In some restores not all of it is pushed.
  const { pushLost } = vCenter
  vCenter.pushLost = Math.max(pushLost, random.pick([0, 0, 0.7]))
  for (const vm of lost) vCenter.unregister(vm)
  vCenter.pushLost = pushLost
  return () => {
    for (const { machine } of lost) {
      if (machine?.vm === undefined && machine?.destroyed === false) machines.register(machine, vCenter)
    }
  }
}

export const VCENTER_FAULTS: Faults = {
  'vcenter-down': (_, { vCenter }) => reach(vCenter, 'down'),
  'other-vcenters-down'({ vCenters }, { vCenter }) {
    const ends = vCenters.filter((each) => each !== vCenter).map((each) => reach(each, 'down'))
    return () => {
      for (const end of ends) end()
    }
  },
  'vcenter-hangs': (_, { vCenter }) => reach(vCenter, 'hangs'),
  'vcenter-slow'({ random }, { vCenter }) {
    vCenter.slow = random.pick([500, 4_000, 12_000])
    return () => {
      vCenter.slow = 0
    }
  },
  'logins-slow'({ random }, { vCenter }) {
    vCenter.slowLogin = random.pick([20_000, 60_000, 120_000])
    vCenter.endSessions()
    return () => {
      vCenter.slowLogin = 0
    }
  },
  'set-up-slow'({ random }, { vCenter }) {
    vCenter.slowSetUp = random.pick([20_000, 35_000, 55_000])
    vCenter.endSessions()
    return () => {
      vCenter.slowSetUp = 0
    }
  },
  'logins-lost'({ random }, { vCenter }) {
    vCenter.losesLogins = random.pick(['SOAP', 'REST'])
    vCenter.endSessions()
    return () => {
      vCenter.losesLogins = undefined
    }
  },
  'polls-cut'({ random }, { vCenter }) {
    vCenter.silence = random.pick([12_000, 30_000, 60_000])
    return () => {
      vCenter.silence = 0
    }
  },
  /** No name server answers, or all are slow, and connections break now and then. */
  'names-late'({ random, timeline }, { vCenter }) {
    let over = false
    vCenter.resolving = random.pick([500, 3_000, 12_000, Number.POSITIVE_INFINITY])
    const cut = (): void => {
      if (over) return
      vCenter.breakWaits()
      timeline.after(random.between(5_000, 60_000), `connections to ${vCenter.name} break`, cut)
    }
    cut()
    return () => {
      over = true
      vCenter.resolving = 0
    }
  },
  'vcenter-errors'({ random }, { vCenter }) {
    vCenter.errors = random.between(0.05, 0.6)
    return () => {
      vCenter.errors = 0
    }
  },
  'vcenter-restarts'({ random, timeline }, { vCenter, machine }) {
    let over = false
    const pace = random.between(0.5, 1.3)
    const restart = (): void => {
      if (over) return
      const loaded = vCenter.restart(random.between(500, 5_000), machine.vm?.moref)
      // One that comes up badly is restarted again.
      timeline.after(pace * loaded, `vCenter ${vCenter.name} restarts`, restart)
    }
    restart()
    return () => {
      over = true
    }
  },
  'sessions-die'({ random, timeline }, { vCenter }) {
    let over = false
    const end = (): void => {
      if (over) return
      vCenter.endSessions()
      timeline.after(random.between(5_000, 60_000), `sessions of ${vCenter.name} die`, end)
    }
    end()
    return () => {
      over = true
    }
  },
  'login-refused'(world, { vCenter }) {
    vCenter.passwordWrong = true
    vCenter.endSessions()
    return () => {
      vCenter.passwordWrong = false
      // It heals by itself, unless the one who mends it would not wait.
      world.healing.until = world.timeline.now + LONGEST_PAUSE
      if (world.random.chance(0.3)) return
      world.healing.until = 0
      world.api.forgetLogins()
      for (const process of world.processes) world.restart(process, world.random.between(500, 5_000))
    }
  },
  'folder-denied'(_, { vCenter, machine }) {
    const folder = machine.vm?.folder ?? machine.lastVM?.folder
    if (folder === undefined) return undefined
    vCenter.denied.add(folder.moref)
    vCenter.changedAll()
    return () => {
      vCenter.denied.delete(folder.moref)
      vCenter.changedAll()
    }
  },
  'other-folders-denied'(_, { vCenter, machine }) {
    const others = vCenter.folders.filter((folder) => folder !== machine.lastVM?.folder)
    for (const { moref } of others) vCenter.denied.add(moref)
    vCenter.changedAll()
    return () => {
      for (const { moref } of others) vCenter.denied.delete(moref)
      vCenter.changedAll()
    }
  },
  'all-denied'(_, { vCenter }) {
    for (const { moref } of vCenter.folders) vCenter.denied.add(moref)
    vCenter.changedAll()
    return () => {
      for (const { moref } of vCenter.folders) vCenter.denied.delete(moref)
      vCenter.changedAll()
    }
  },
  'properties-denied'(_, { vCenter, machine }) {
    const moref = machine.vm?.moref
    if (moref === undefined) return undefined
    vCenter.reticent.add(moref)
    vCenter.changedAll()
    return () => {
      vCenter.reticent.delete(moref)
      vCenter.changedAll()
    }
  },
  'host-tags-denied'(_, { vCenter, machine }) {
    const vm = machine.vm ?? machine.lastVM
    if (vm === undefined) return undefined
    const host = hostOf(vm).value
    vCenter.tagsDenied.set(host, 403)
    return () => {
      vCenter.tagsDenied.delete(host)
    }
  },
  /** The name of the nearest tag may not be read. */
  'tag-denied'(_, { vCenter, machine }) {
    const vm = machine.vm ?? machine.lastVM
    if (vm === undefined) return undefined
    const tag = zoneOf(vm.host)
    vCenter.tagsDenied.set(tag, 403)
    return () => {
      vCenter.tagsDenied.delete(tag)
    }
  },
  /** A person detaches the tag of a host, and attaches it again. */
  'host-untagged'(_, { vCenter, machine }) {
    const vm = machine.vm ?? machine.lastVM
    if (vm === undefined) return undefined
    const tag = `${hostOf(vm).value} ${rackOf(vm.host)}`
    vCenter.untagged.add(tag)
    return () => {
      vCenter.untagged.delete(tag)
    }
  },
  /** The account loses its rights on tags: their lists are empty. */
  'tags-hidden'(_, { vCenter }) {
    vCenter.tagsHidden = true
    return () => {
      vCenter.tagsHidden = false
    }
  },
  /** The same of custom attributes, or somebody removes their definitions. */
  'attributes-hidden'({ random }, { vCenter }) {
    vCenter.attributesHidden = random.pick(['names', 'values', 'all'])
    vCenter.changedAll()
    return () => {
      vCenter.attributesHidden = undefined
      vCenter.changedAll()
    }
  },
  /** Other people share the vCenter, and their categories may not be read, or nobody answers for them; it stays so. */
  'foreign-categories-denied'({ random }, { vCenter }) {
    const status = random.pick([403, 503] as const)
    for (const category of FOREIGN_CATEGORIES) vCenter.tagsDenied.set(category, status)
    return undefined
  },
  /** Calls about one VM fail. */
  'vm-faulty'({ random }, { vCenter, machine }) {
    const moref = machine.vm?.moref
    if (moref === undefined) return undefined
    vCenter.faults.set(moref, random.pick(['read', 'search', 'session', 'silent', 'poll']))
    return () => {
      vCenter.faults.delete(moref)
    }
  },
  'root-denied': (_, { vCenter }) => denyRoot([vCenter]),
  'other-roots-denied': ({ vCenters }, { vCenter }) => denyRoot(vCenters.filter((each) => each !== vCenter)),
  'role-without-propagation'(_, { vCenter }) {
    vCenter.withoutPropagation = true
    vCenter.changedAll()
    return () => {
      vCenter.withoutPropagation = false
      vCenter.changedAll()
    }
  },
  'search-broken'(_, { vCenter }) {
    vCenter.searchBroken = true
    return () => {
      vCenter.searchBroken = false
    }
  },
  'push-lost'({ random }, { vCenter }) {
    vCenter.pushLost = random.pick([0.5, 1])
    return () => {
      vCenter.pushLost = 0
    }
  },
  'other-vcenter-answers'(world, { vCenter }) {
    if (isCloned(world, vCenter)) return undefined
    vCenter.impostor = world.anotherVCenter(vCenter.name, world.random)
    vCenter.breakWaits()
    return () => {
      vCenter.breakWaits()
      vCenter.impostor = undefined
    }
  },
  /** Some VMs are destroyed, of which vCenter tells of the first before it hangs: the others are gone when it is back. */
  'vms-lost-in-hanging'({ random, machines, timeline }, { vCenter }) {
    const going = machines.all.filter(({ vm }) => vm?.vCenter === vCenter && random.chance(0.6))
    const told = 1 + random.below(going.length)
    for (const machine of going.slice(0, told)) machines.destroy(machine)
    timeline.after(random.between(200, 2_000), `vCenter ${vCenter.name} hangs`, () => {
      reach(vCenter, 'hangs')
      for (const machine of going.slice(told)) machines.destroy(machine)
    })
    return () => {
      vCenter.reach = 'works'
    }
  },
  'old-backup-restored': (world, { vCenter }) => restore(world, vCenter, world.random.between(0.2, 1)),
  /** One that knows no Node's VM. */
  'older-backup-restored': (world, { vCenter }) => restore(world, vCenter, 1),
}
