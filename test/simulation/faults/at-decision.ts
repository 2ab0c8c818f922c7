/** What happens just when a controller probes a VM, or has decided to delete its Node but not yet done so. */

import { canSpeak } from '../model/machine.ts'
import type { Machines } from '../model/machines.ts'
import { readyOf } from '../model/objects.ts'
import type { Process } from '../model/process.ts'
import type { World } from '../world.ts'
import type { Fault, Faults, Focus } from './fault.ts'

/** Milliseconds after a decision, in which its reason is written, and the Node deleted. */
const WRITING = 60

/** Waits for one decision. */
function whenDeleting(
  strike: (world: World, process: Process, focus: Focus) => void,
  within: readonly number[] = [WRITING],
): Fault {
  return (world, focus) => {
    const { judge, timeline, random } = world
    const told = (process: Process, nodeName: string): void => {
      if (nodeName !== focus.machine.nodeName) return
      judge.onDecision.delete(told)
      const delay = random.between(0, random.pick(within))
      timeline.after(delay, `somebody strikes at ${nodeName}`, () => strike(world, process, focus))
    }
    judge.onDecision.add(told)
    return () => judge.onDecision.delete(told)
  }
}

/** Waits for one of the probes, most often of a machine that does not speak otherwise. */
function whenAsked(
  strike: (world: World, focus: Focus) => void,
  delays: readonly number[] = [0, 5, 30, 5_000],
): Fault {
  return (world, focus) => {
    const { judge, timeline, random, api } = world
    let left = random.below(3)
    const told = (nodeName: string): void => {
      const node = api.nodes.get(nodeName)
      // Before the Node is seen to be silent, a probe more or less changes nothing.
      if (nodeName !== focus.machine.nodeName || node === undefined || readyOf(node) === 'True') return
      if (left-- > 0) return
      judge.onProbe.delete(told)
      timeline.after(random.pick(delays), `${nodeName} speaks once`, () => strike(world, focus))
    }
    judge.onProbe.add(told)
    return () => judge.onProbe.delete(told)
  }
}

/** Before the probe has reached anybody. */
const AT_ONCE = [0]

/** Waits for a probe that may be the last before the deletion: as the leader knows, the VM was absent for long enough. */
function atTheLastProbe(strike: (world: World, focus: Focus) => void): Fault {
  return (world, focus) => {
    const { judge, timeline, settings, api } = world
    const told = (nodeName: string): void => {
      if (nodeName !== focus.machine.nodeName) return
      const { heard = [] } = judge.work(api.holder.identity, nodeName)
      const doubt = heard.findIndex(({ whole }) => !whole)
      const first = heard.at(doubt < 0 ? -1 : doubt - 1)
      if (doubt === 0 || first === undefined) return
      if (timeline.now - first.asked.at < settings.lifecycle.absentFor) return
      judge.onProbe.delete(told)
      timeline.after(0, `somebody strikes at ${nodeName}`, () => strike(world, focus))
    }
    judge.onProbe.add(told)
    return () => judge.onProbe.delete(told)
  }
}

/** As many VMs are destroyed as may vanish at once, and one more, which a person holds until the others' Nodes are deleted. */
function oneTooMany(then: (world: World, letGo: () => void) => void): Fault {
  return (world, { vCenter }) => {
    const { machines, judge, settings, annotate, api, timeline } = world
    const there = machines.all.filter(({ vm }) => vm?.vCenter === vCenter)
    const { maxAbsentMinimum, maxAbsentShare } = settings.lifecycle
    const allowed = Math.max(maxAbsentMinimum, Math.floor(there.length * maxAbsentShare))
    const [held, ...others] = there.slice(0, allowed + 1)
    if (held === undefined) return undefined
    const left = new Set(others.map(({ nodeName }) => nodeName))
    const told = (_: Process, nodeName: string): void => {
      if (!left.delete(nodeName) || left.size > 0) return
      judge.onDecision.delete(told)
      then(world, letGo)
    }
    // A deletion that was decided may take its time, or be refused.
    const letGo = (): void => {
      const remain = others.some(({ nodeName, nodeUID }) => api.nodes.get(nodeName)?.metadata.uid === nodeUID)
      if (remain) timeline.after(1_000, 'a person waits', letGo)
      else annotate(held.nodeName, undefined)
    }
    annotate(held.nodeName, 'hold')
    judge.onDecision.add(told)
    for (const machine of [held, ...others]) machines.destroy(machine)
    return undefined
  }
}

function listAgain(
  { machines }: World,
  { machine, vCenter }: Focus,
  as: Parameters<Machines['register']>[2],
): void {
  if (machine.vm === undefined && !machine.destroyed) machines.register(machine, vCenter, as)
}

function reportOnce({ machines }: World, { machine }: Focus): void {
  const { agent } = machine
  machine.agent = true
  machines.report(machine)
  machine.agent = agent
}

function stop(how: 'frozen' | 'suspended'): Fault {
  return whenDeleting(
    ({ timeline, random }, process) => {
      process.stop(how)
      timeline.after(random.pick([1_000, 20_000, 60_000, 600_000]), `${process.name} wakes`, process.wake)
    },
    [WRITING / 4, WRITING],
  )
}

export const FAULTS_AT_DECISION: Faults = {
  'reports-when-asked': whenAsked(reportOnce),
  'reports-at-the-last-probe': atTheLastProbe(reportOnce),
  'listed-again-when-asked': whenAsked((world, focus) => listAgain(world, focus, {}), AT_ONCE),
  'listed-with-other-bios-uuid-when-asked': whenAsked(
    (world, focus) => listAgain(world, focus, { biosUUID: world.random.uuid() }),
    AT_ONCE,
  ),
  'listed-with-other-instance-uuid-when-asked': whenAsked(
    (world, focus) => listAgain(world, focus, { instanceUUID: world.random.uuid() }),
    AT_ONCE,
  ),
  /** Somebody restores it from a backup, here or in another vCenter: as it was, but for its reference and instance UUID. */
  'restored-at-the-last-probe': atTheLastProbe(({ machines, random, vCenters }, { machine }) => {
    if (machine.vm === undefined && !machine.destroyed)
      machines.register(machine, random.pick(vCenters), { instanceUUID: random.uuid() })
  }),
  'renews-lease-when-asked': whenAsked(({ machines, api }, { machine }) => {
    if (!api.away && canSpeak(machine)) machines.kubelets.renewLease(machine)
  }),
  'frozen-when-deleting': stop('frozen'),
  'suspended-when-deleting': stop('suspended'),
  'cut-off-when-deleting': whenDeleting(({ timeline, random }, { line }) => {
    line.cut = true
    timeline.after(random.pick([1_000, 20_000, 60_000]), 'a replica is connected again', () => {
      line.cut = false
    })
  }),
  'back-when-deleting': whenDeleting(({ machines }, _, { machine, vCenter }) => {
    if (machine.destroyed) return
    machine.linked = true
    machine.kubelet = true
    if (machine.vm === undefined) machines.register(machine, vCenter)
    machines.boot(machine)
    machines.kubelets.beat(machine)
  }),
  'back-when-out-of-service'({ machines, judge, timeline, random }, { machine }) {
    const told = (nodeName: string): void => {
      if (nodeName !== machine.nodeName) return
      judge.onOutOfService.delete(told)
      timeline.after(random.between(0, 1_000), `${nodeName} speaks again`, () => {
        machine.linked = true
        machines.kubelets.beat(machine)
      })
    }
    judge.onOutOfService.add(told)
    return () => judge.onOutOfService.delete(told)
  },
  'made-anew-when-deleting': whenDeleting(({ machines, api }, _, { machine, vCenter }) => {
    const [folder] = vCenter.folders
    const { nodeName } = machine
    const runs = machines.all.some((each) => each.nodeName === nodeName && !each.destroyed)
    if (runs || folder === undefined) return
    api.putNode(nodeName, undefined)
    machines.kubelets.start(machines.create(nodeName, vCenter, folder))
  }),
  'one-too-many-held': oneTooMany(({ timeline, random }, letGo) => {
    timeline.after(random.between(65_000, 75_000), 'it is held no longer', letGo)
  }),
  /** What the leader knows of deletions outlives its configuration. */
  'one-too-many-held-until-configured-anew': oneTooMany(({ timeline, random, configFile }, letGo) => {
    timeline.after(random.between(0, 5_000), 'the leader is configured anew', () => {
      configFile.write({})
      timeline.after(random.between(5_000, 10_000), 'it is held no longer', letGo)
    })
  }),
  'held-when-deleting': whenDeleting((world, _, { machine }) => world.annotate(machine.nodeName, 'hold')),
}
