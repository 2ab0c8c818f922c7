/** Checks everything that happens, and tells which promise it breaks. */
import { isDeepStrictEqual } from 'node:util'
import type { VCenterProbe } from '../../../controller/types/inventory.ts'
import { runs, type VM } from '../model/machine.ts'
import { isDeparting, readyOf, type StoredStatus } from '../model/objects.ts'
import type { Process } from '../model/process.ts'
import { ROOT } from '../model/values.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { World } from '../world.ts'
import { createAddressJudge } from './addresses.ts'
import { isMeant } from './brake.ts'
import { createBystanderJudge } from './bystanders.ts'
import { createCertificateJudge } from './certificates.ts'
import { isUnseeable, judgeDeletion } from './deletion.ts'
import { entryOf } from './entries.ts'
import { createHearing } from './hearing.ts'
import { createLabelJudge } from './labels.ts'
import { noteUndecided } from './latch.ts'
import { createLoginJudge } from './logins.ts'
import { createServiceJudge, judgeTaints } from './out-of-service.ts'
import { createOwnAddressJudge, judgeWrittenAddresses } from './own-addresses.ts'
import { judgeByPolicy } from './policy.ts'
import type { Judge, Violation, Work } from './promises.ts'
import { judgeReportStatus } from './report-status.ts'
import { createTagJudge } from './tags.ts'
import { createTopologyJudge } from './topology.ts'

/** In four minutes: each of two leaders may try once, and once more when it forgot. */
const MOST_REFUSALS = 3

/** Longer than a probe takes, milliseconds. */
const RECENT = 90_000

/** Number of results that are remembered. */
const MOST_HEARD = 20

/** What vCenter must say of a VM that is gone; repeated here, so that a change of the code cannot change it. */
function isWhole({ moref, instanceUUID, biosUUID, privileges, canary }: VCenterProbe): boolean {
  const found = [moref, instanceUUID, biosUUID].some(
    (finding) => finding !== undefined && finding.state !== 'not-found',
  )
  return !found && privileges.state === 'proven' && canary.state !== 'unproven'
}

export function createJudge(world: () => World): Judge {
  const violations: Violation[] = []
  const works = new Map<string, Work>()
  const writes = new Map<string, number>()
  const probes = new Map<string, number>()
  const shownAt = new WeakMap<VM, number>()
  const awayAt = new WeakMap<VCenterModel, number>()
  const stoppedAt = new WeakMap<VM, number>()
  const hearing = createHearing(world)
  const awaySince = new Map<VCenterModel, number>()
  const waits = createAddressJudge()
  const ownAddresses = createOwnAddressJudge()
  const bystanders = createBystanderJudge()
  const service = createServiceJudge()
  const labels = createLabelJudge()
  const tags = createTagJudge()
  const topology = createTopologyJudge()
  const certificates = createCertificateJudge()
  const violate = (promise: string, what: string): void => {
    violations.push({ promise, what })
    world().timeline.note(`VIOLATION of ${promise}: ${what}`)
  }
  const more = (counts: Map<string, number>, name: string): void => {
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }

  function work(process: string, nodeName: string): Work {
    const key = `${process} ${nodeName}`
    const known = works.get(key) ?? {}
    works.set(key, known)
    return known
  }

  // Who answers in the place of another shows what it has itself.
  const isBlind = () => world().vCenters.some((each) => (each.impostor ?? each).denied.has(ROOT))

  /**
   * Whether nobody could know of a VM: its vCenter has hidden it for as long as a VM must be absent, and its Node is not
   * Ready, or was let go. Of those `docs/lifecycle.md` says that they do not speak for a vCenter which shows nothing.
   */
  function isForgotten(vm: VM): boolean {
    const { api, settings, timeline } = world()
    const node = [...api.nodes.values()].find(({ metadata }) => metadata.uid === vm.machine?.nodeUID)
    if (node === undefined || (readyOf(node) === 'True' && !isMeant(node))) return false
    const hiddenFor = timeline.now - (shownAt.get(vm) ?? vm.registeredAt)
    return hiddenFor >= settings.lifecycle.absentFor
  }

  /** The VM that a Node was verified to be, or that was seen for it. */
  function shownFor(name: string): StoredStatus['vm'] {
    const { nodes, reports } = world().api
    const { vm, namedVM, nodeUID } = reports.get(name)?.status ?? {}
    return nodeUID === nodes.get(name)?.metadata.uid ? (vm ?? namedVM) : undefined
  }

  /**
   * Whether a VM says nothing of its vCenter where this Node is asked for: no Node has it any more, or none that a vCenter was
   * seen to have, and the one that is asked for was another's.
   */
  function isMute(vm: VM, nodeName: string): boolean {
    const node = [...world().api.nodes.values()].find(({ metadata }) => metadata.uid === vm.machine?.nodeUID)
    if (node === undefined) return true
    // By its status, a Node that a tenant has taken is his VM, and so may be one that was never verified.
    const shown = shownFor(node.metadata.name)
    if (shown !== undefined && entryOf(world(), shown)?.tenant !== undefined) return true
    const home = shownFor(nodeName)?.vCenterInstanceUUID
    const isElsewhere = home !== undefined && home !== vm.vCenter.instanceUUID
    return isElsewhere && shown === undefined
  }

  /** A vCenter that is taken for empty must be so: none but VMs that came since may be listed there. */
  function isWronglyEmpty({ canary, vCenter: name }: VCenterProbe, nodeName: string): boolean {
    if (canary.state !== 'none') return false
    const { vCenters, timeline } = world()
    const vCenter = vCenters.find((each) => each.name === name)
    if (vCenter !== undefined && isCopiedElsewhere(vCenter)) return false
    return [...(vCenter?.vms.values() ?? [])].some(
      (vm) =>
        vm.machine !== undefined &&
        // Nothing tells one VM that is hidden alone from one that is gone; whether it is there is judged at the deletion.
        vm.machine.nodeName !== nodeName &&
        vm.leftAt === undefined &&
        // A hidden standby runs nothing: whether the machine of its Node exists is judged apart.
        !(vm.standby && vm.faultTolerance !== undefined && !vm.vCenter.isVisible(vm)) &&
        timeline.now - vm.registeredAt > RECENT &&
        !isUnseeable(vm) &&
        !isForgotten(vm) &&
        !isMute(vm, nodeName),
    )
  }

  /**
   * What passes for a Node's VM in another vCenter is taken for a move: the Node says nothing of this one any more. Of one that is
   * Ready that takes its claim, or its instance UUID.
   */
  function isCopiedElsewhere(vCenter: VCenterModel): boolean {
    const { api, vCenters } = world()
    const elsewhere = vCenters.filter((each) => each !== vCenter)
    const copies = elsewhere.flatMap(({ vms }) => [...vms.values()].filter(({ tenant }) => tenant))
    const isReady = ({ machine }: VM): boolean =>
      [...api.nodes.values()].some(
        (node) => node.metadata.uid === machine?.nodeUID && readyOf(node) === 'True' && !isMeant(node),
      )
    const passesFor = (vm: VM, { biosUUID, instanceUUID, tenant }: VM): boolean =>
      biosUUID === vm.biosUUID && (tenant?.reads === true || instanceUUID === vm.instanceUUID || !isReady(vm))
    return [...vCenter.vms.values()].some((vm) => copies.some((copy) => passesFor(vm, copy)))
  }

  const moment = ({ monotonic }: Process) => ({ at: world().timeline.now, monotonic: monotonic() })

  const judge: Judge = {
    ...createLoginJudge(violate, () => world().timeline.now),
    violations,
    violate,
    work,
    deletions: [],
    onProbe: new Set(),
    onDecision: new Set(),
    onOutOfService: new Set(),
    undecided: new Map(),
    braked: new Map(),
    foundAgain: new Map(),
    letGoAt: new Map(),
    many: new Map(),
    refusals: new Map(),
    bindings: new Map(),
    taken: new Map(),
    writes,
    probes,
    count() {
      writes.clear()
      probes.clear()
    },
    showed(owner, shown) {
      for (const each of shown) hearing.told(owner, each)
    },
    knowsToRun: hearing.knowsToRun,
    knowsClaim: hearing.knowsClaim,
    canAsk: hearing.canAsk,
    awaySince: (vCenter) => awaySince.get(vCenter),
    stoppedAt: (vm) => stoppedAt.get(vm),
    shownAt: (vm) => shownAt.get(vm),
    awayAt: (vCenter) => awayAt.get(vCenter),
    look() {
      const { vCenters, timeline } = world()
      for (const vCenter of vCenters) {
        for (const vm of vCenter.known.values()) if (!runs(vm)) stoppedAt.set(vm, timeline.now)
        if (vCenter.reach !== 'works' || vCenter.resolving > 0 || vCenter.impostor !== undefined) {
          awayAt.set(vCenter, timeline.now)
          awaySince.set(vCenter, awaySince.get(vCenter) ?? timeline.now)
          continue
        }
        awaySince.delete(vCenter)
        for (const vm of vCenter.vms.values()) if (vCenter.isVisible(vm)) shownAt.set(vm, timeline.now)
      }
      hearing.look()
      noteUndecided(world())
      waits.look(world())
      ownAddresses(world())
      bystanders(world())
      service.look(world())
      labels.look(world())
      tags.look(world())
      topology.look(world())
      certificates.look(world())
    },
    asked(process, nodeName) {
      more(probes, nodeName)
      const known = work(process.name, nodeName)
      known.asked = moment(process)
      known.blind = isBlind()
      world().timeline.note(`${process.name} asks for the VM of ${nodeName}`)
      for (const told of judge.onProbe) told(nodeName)
    },
    heard(process, nodeName, probes, heartbeat) {
      const known = work(process.name, nodeName)
      const { asked } = known
      if (asked === undefined) return
      const sessions = [...new Set(probes.map(({ vCenter, session }) => `${vCenter}=${session}`))].join(' ')
      // Whatever the code has asked: who may not read the root may not know what else there is.
      const blind = known.blind === true && isBlind()
      const gone = probes.every(isWhole)
      const whole = gone && !blind && probes.every((probe) => !isWronglyEmpty(probe, nodeName))
      const beside = probes.every(({ canary }) => canary.state === 'proven')
      const found = probes.flatMap(({ vCenterInstanceUUID, biosUUID }) =>
        biosUUID.state === 'found' ? `${vCenterInstanceUUID} ${biosUUID.vm.moref}` : [],
      )
      const vCenters = probes.map(({ vCenterInstanceUUID }) => vCenterInstanceUUID)
      const { now: at } = world().timeline
      const answer = { at, gone, found, whole, beside, vCenters, sessions, heartbeat, asked }
      known.heard = [answer, ...(known.heard ?? []).slice(0, MOST_HEARD)]
    },
    answered(process, nodeName) {
      const known = work(process.name, nodeName)
      if (known.asked !== undefined) known.answered = { ...moment(process), asked: known.asked }
    },
    arrived(process, nodeName, writtenAt) {
      const known = work(process.name, nodeName)
      known.arrived = Math.max(known.arrived ?? 0, writtenAt)
    },
    decided(process, nodeName) {
      const known = work(process.name, nodeName)
      known.decided = { ...moment(process), answered: known.answered, arrived: known.arrived ?? 0 }
      world().timeline.note(`${process.name} decides to delete ${nodeName}`)
      for (const told of judge.onDecision) told(process, nodeName)
    },
    forgotten(process, vCenter) {
      violate('a credential stays in force', `${process.name} has forgotten that of ${vCenter}`)
    },
    defect(process, error) {
      violate('no defect', `${process.name}: ${error instanceof Error ? error.stack : String(error)}`)
    },
    onRefused(nodeName) {
      const { now } = world().timeline
      const lately = (judge.refusals.get(nodeName) ?? []).filter((at) => now - at < 240_000)
      judge.refusals.set(nodeName, [...lately, now])
      if (lately.length >= MOST_REFUSALS)
        violate('no endless trying', `the deletion of ${nodeName} was refused ${lately.length + 1} times`)
    },
    onRequestDecided(request, by) {
      certificates.decided(world(), by, request)
    },
    onWrite(write) {
      const { by, what, before, after } = write
      const { name } = before.metadata
      world().timeline.note(`${by} writes ${what} of ${name}`)
      more(writes, name)
      if (isDeepStrictEqual(before, after))
        violate('no vain write', `${by} wrote ${what} of ${name} as it was`)
      if (write.what !== 'report status' && isDeparting(write.before))
        violate('a Node that is being deleted is left alone', `${by} writes ${what} of ${name}`)
      if (write.what === 'report status') judgeReportStatus(world(), by, write.before, write.after)
      else if (write.what === 'node deletion') judgeDeletion(world(), by, write.before)
      else if (write.after !== undefined) {
        if (write.what === 'node') judgeTaints(world(), by, write.before, write.after)
        judgeWrittenAddresses(world(), by, write.before, write.after)
        judgeByPolicy(world(), by, write.before, write.after)
        topology.judge(world(), by, write.before, write.after)
        labels.judge(world(), by, write.before, write.after)
        tags.judge(world(), by, write.before, write.after)
      }
    },
  }
  return judge
}
