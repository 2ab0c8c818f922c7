/** What machines do: boot, speak, fall silent, and come and go in the inventories. */
import { ANNOTATION_REPORTED_AT } from '../../../agent/shared/node-report.ts'
import type { Random } from '../random.ts'
import type { Timeline } from '../timeline.ts'
import type { ApiServer } from './api-server.ts'
import { createKubelets, type Kubelets, SIGNS } from './kubelets.ts'
import { OWNER, OWNERS } from './label-sources.ts'
import { canSpeak, type Folder, type Machine, type VM } from './machine.ts'
import type { StoredReport } from './objects.ts'
import { wallTime } from './process.ts'
import { claimOf, specOf } from './report-spec.ts'
import type { VCenterModel } from './vcenter.ts'

export interface Machines {
  readonly kubelets: Kubelets
  readonly all: Machine[]
  /** Makes a machine, lists it in a vCenter, and boots it; with an address of its own, unless one is given. One that is `migrated` has no agent, and another provider's Node. */
  create(
    nodeName: string,
    vCenter: VCenterModel,
    folder: Folder,
    options?: {
      readonly migrated?: boolean
      readonly swapped?: boolean
      readonly address?: string | undefined
      readonly squats?: string
      readonly tools?: boolean
      readonly providerID?: string
    },
  ): Machine
  boot(machine: Machine): void
  /** Power off or suspend. */
  halt(machine: Machine, power: 'poweredOff' | 'suspended'): void
  destroy(machine: Machine): void
  /** Lists a machine that no vCenter lists, under a new reference; with other UUIDs where they are given. */
  register(
    machine: Machine,
    vCenter: VCenterModel,
    as?: Partial<Pick<VM, 'biosUUID' | 'instanceUUID' | 'folder' | 'name'>>,
  ): VM
  /** A machine that is off goes on as another VM. The one before stays in its vCenter. */
  leave(machine: Machine): void
  /** It goes on as the VM that it has left. */
  enter(machine: Machine, vm: VM): void
  /** It gets an address that nobody else has, or this one, and its agent sees that. */
  readdress(machine: Machine, address?: string): void
  /** Its agent starts anew. */
  restartAgent(machine: Machine): void
  report(machine: Machine): void
}

export interface MachinesOptions {
  readonly api: ApiServer
  readonly timeline: Timeline
  readonly random: Random
  /** Milliseconds between heartbeats that are written though nothing changed, and between an agent's reports. */
  readonly heartbeat: number
  readonly refresh: number
  /** See {@link Kubelets.gracePeriod}. */
  readonly gracePeriod: number
}

export function createMachines(options: MachinesOptions): Machines {
  const { api, timeline } = options
  const all: Machine[] = []
  const kubelets = createKubelets({ ...options, machines: all })
  let made = 0
  let changed = 0

  function report(machine: Machine): void {
    const node = api.nodes.get(machine.nodeName)
    if (!machine.agent || !canSpeak(machine) || api.away || node === undefined) return
    // A systemd unit reads its own Node; whose UID that is, the kubelet has decided.
    if (node.metadata.uid !== machine.nodeUID) return
    writeClaim(machine)
    noteReported(machine)
    machine.reports = [timeline.now, ...machine.reports.slice(0, SIGNS - 1)]
    const before = api.reports.get(machine.nodeName)
    const spec = specOf(machine)
    const same = JSON.stringify(before?.spec) === JSON.stringify(spec)
    const generation = (before?.metadata.generation ?? 0) + (same ? 0 : 1)
    const object: StoredReport = {
      metadata: {
        name: machine.nodeName,
        uid: before?.metadata.uid ?? machine.random.uuid(),
        resourceVersion: '',
        creationTimestamp: before?.metadata.creationTimestamp ?? wallTime(timeline.now),
        generation,
        ownerUID: node.metadata.uid,
        annotations: { [ANNOTATION_REPORTED_AT]: wallTime(timeline.now) },
      },
      spec,
      status: before?.status ?? { conditions: [] },
    }
    api.putReport(machine.nodeName, object)
  }

  /** What was reported under its name before counts no more. */
  function noteReported({ nodeName, reported, squats, address }: Machine): void {
    for (const each of all.filter((one) => one.nodeName === nodeName))
      for (const [said, until] of each.reported) each.reported.set(said, Math.min(until, timeline.now))
    const said = squats ?? address
    if (said !== undefined) reported.set(said, Number.POSITIVE_INFINITY)
  }

  function writeClaim(machine: Machine): void {
    const claim = claimOf(machine)
    if (claim === undefined || machine.vm?.claim === claim) return
    const show = (): void => {
      const { vm } = machine
      if (vm === undefined || vm.claim === claim || claimOf(machine) !== claim) return
      vm.claim = claim
      machine.hasClaimed = machine.nodeUID
      vm.vCenter.changed(vm)
    }
    if (machine.claimDelay === 0) show()
    else timeline.after(machine.claimDelay, `the claim of ${machine.nodeName} shows`, show)
  }

  /** The agent's loop. */
  function keepReporting(machine: Machine, wait: number): void {
    timeline.after(wait, `agent of ${machine.nodeName} reports`, () => {
      if (machine.destroyed) return
      if (machine.reportDelay > 0) timeline.after(machine.reportDelay, 'a late report', () => report(machine))
      else report(machine)
      keepReporting(machine, options.refresh * machine.random.between(1, 1.125))
    })
  }

  function boot(machine: Machine): void {
    // Nobody powers a template on.
    if (machine.destroyed || machine.lastVM?.template === true) return
    const { random } = machine
    const resumes = machine.power === 'suspended'
    if (machine.power !== 'poweredOn') machine.powerSince = timeline.now
    machine.power = 'poweredOn'
    const { vm } = machine
    if (!resumes) {
      machine.bootID = random.uuid()
      machine.nonce = drawNonce(random)
      if (vm !== undefined) {
        vm.claim = undefined
        machine.biosUUID = vm.biosUUID
        machine.instanceUUID = vm.instanceUUID
        machine.mac = vm.mac
      }
    }
    if (vm !== undefined) vm.vCenter.changed(vm)
    timeline.after(random.between(500, 5_000), `kubelet of ${machine.nodeName} starts`, () =>
      kubelets.start(machine),
    )
    timeline.after(random.between(5_000, 8_000), `agent of ${machine.nodeName} starts`, () => report(machine))
  }

  function register(machine: Machine, vCenter: VCenterModel, as: Parameters<Machines['register']>[2]): VM {
    const before = machine.lastVM
    if (before === undefined) throw new Error(`machine ${machine.nodeName} was never listed`)
    const given = { biosUUID: before.biosUUID, instanceUUID: before.instanceUUID, ...as }
    // One that runs keeps one of its UUIDs: vCenter gives both anew to a machine that is off, which is then another one.
    const isAnother = given.biosUUID !== machine.biosUUID && given.instanceUUID !== machine.instanceUUID
    const kept =
      isAnother && machine.power !== 'poweredOff'
        ? { biosUUID: before.biosUUID, instanceUUID: before.instanceUUID }
        : {}
    const { folders } = vCenter
    const folder = as?.folder ?? (before.vCenter === vCenter ? before.folder : machine.random.pick(folders))
    const vm = vCenter.register({
      ...before,
      machine,
      connectionState: 'connected',
      shownPower: undefined,
      // Who is registered anew is in no group.
      faultTolerance: undefined,
      ...as,
      ...kept,
      folder,
    })
    vCenter.changed(vm)
    return vm
  }

  return {
    all,
    kubelets,
    create(nodeName, vCenter, folder, as = {}) {
      const { migrated = false, swapped, address, squats, tools, providerID } = as
      const number = ++made
      const namesakes = all.filter((each) => each.nodeName === nodeName)
      const random = options.random.derive(`${nodeName} ${namesakes.length}`)
      const mac = `00:50:56:00:${(number >> 8).toString(16).padStart(2, '0')}:${(number & 255).toString(16).padStart(2, '0')}`
      const machine: Machine = {
        nodeName,
        mac,
        address: address ?? `10.0.${number >> 8}.${number & 255}`,
        tools: tools ?? random.derive('tools').chance(0.7),
        reported: new Map(),
        squats,
        hasClaimed: undefined,
        providerID,
        random,
        power: 'poweredOff',
        biosUUID: random.uuid(),
        instanceUUID: random.uuid(),
        bootID: random.uuid(),
        claims: random.derive('claims').pick(AGENTS),
        nonce: drawNonce(random),
        claimDelay: random.derive('claim delay').pick([0, 0, 2_000, 20_000]),
        kubelet: true,
        agent: !migrated,
        migrated,
        swapped: swapped ?? (migrated && random.derive('byte order').chance(0.5)),
        ready: true,
        linked: true,
        reportDelay: 0,
        forged: false,
        nodeUID: undefined,
        vm: undefined,
        lastVM: undefined,
        lists: new Set(),
        places: new Set(),
        destroyed: false,
        firstVanishedAt: undefined,
        vanishedAt: 0,
        vanishedUntold: false,
        powerSince: 0,
        reports: [],
        renewals: [],
      }
      vCenter.register({
        name: nodeName,
        biosUUID: machine.biosUUID,
        instanceUUID: machine.instanceUUID,
        folder,
        host: `host-${random.below(4)}`,
        attributes: { [OWNER]: random.derive('owner').pick(OWNERS) },
        connectionState: 'connected',
        shownPower: undefined,
        claim: undefined,
        template: false,
        mac,
        machine,
        faultTolerance: undefined,
        standby: false,
      })
      all.push(machine)
      boot(machine)
      keepReporting(machine, random.between(6_000, options.refresh))
      return machine
    },
    boot,
    halt(machine, power) {
      if (machine.power !== 'poweredOn') return
      machine.power = power
      machine.powerSince = timeline.now
      // What tools have written into guestinfo is lost, at once or at the next boot.
      if (power === 'poweredOff' && machine.vm !== undefined && machine.random.chance(0.5))
        machine.vm.claim = undefined
      if (machine.vm !== undefined) machine.vm.vCenter.changed(machine.vm)
    },
    destroy(machine) {
      machine.power = 'poweredOff'
      machine.destroyed = true
      if (machine.vm !== undefined) machine.vm.vCenter.unregister(machine.vm)
    },
    register,
    leave(machine) {
      const { vm } = machine
      if (vm === undefined) return
      machine.vm = undefined
      vm.leftAt = timeline.now
      vm.vCenter.changed(vm)
    },
    enter(machine, vm) {
      machine.vm = vm
      machine.lastVM = vm
      vm.leftAt = undefined
      vm.shownPower = undefined
      vm.vCenter.changed(vm)
    },
    readdress(machine, address = `10.0.${128 + (++changed >> 8)}.${changed & 255}`) {
      machine.address = address
      machine.vm?.vCenter.changed(machine.vm)
      report(machine)
    },
    restartAgent(machine) {
      machine.nonce = drawNonce(machine.random)
      report(machine)
    },
    report,
  }
}

/** Most are of this release, and may write to guestinfo. */
const AGENTS: readonly Machine['claims'][] = [
  ...Array<Machine['claims']>(5).fill('with-nonce'),
  'without-nonce',
  'nothing',
]

function drawNonce(random: Random): string {
  return random.uuid().replaceAll('-', '')
}
