import { TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import type { Machine } from '../model/machine.ts'
import { isDeparting, readyOf, type StoredNode } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import { hasCopy } from './binding.ts'
import { isLeaderWell } from './leader.ts'

/** Longer than it takes to tell who waits, and to initialize it, while nothing else is wrong; milliseconds. */
const TOLD = 45_000

/** Who waits for an address is initialized soon after the machine that has held it is proven gone. */
export function createAddressJudge(): { look(world: World): void } {
  /** Since when each Node waits in vain, by its UUID and the leader. */
  const since = new Map<string, number>()
  return {
    look(world) {
      const { api, timeline, judge } = world
      const waiting = new Set(isCalm(world) ? waitsInVain(world) : [])
      for (const key of since.keys()) if (!waiting.has(key)) since.delete(key)
      for (const key of waiting) {
        const from = since.get(key) ?? timeline.now
        since.set(key, from)
        if (timeline.now - from > TOLD)
          judge.violate('who waits for an address is told', `${key} (${api.holder.identity} leads) is not`)
      }
    },
  }
}

/**
 * Whether a leader hears and says everything at once, nothing has just healed, and each vCenter lets it in and is the one
 * that it is taken for.
 */
function isCalm(world: World): boolean {
  return (
    isLeaderWell(world) &&
    world.timeline.now >= world.healing.until &&
    world.vCenters.every(
      ({ reach, slow, impostor, passwordWrong }) =>
        reach === 'works' && slow === 0 && impostor === undefined && !passwordWrong,
    )
  )
}

/** Nodes that wait for an address though the leader has heard that nobody has it. */
function waitsInVain(world: World): readonly string[] {
  const { api, machines } = world
  return [...api.nodes.values()].flatMap((node) => {
    const { name, uid } = node.metadata
    const status = api.reports.get(name)?.status
    const said = status?.conditions.find(({ type }) => type === 'AddressesResolved')
    const [machine] = machinesOf(world, uid)
    // Without a VM that is shown nothing is verified of a machine, and nothing given to it.
    if (machine?.vm?.vCenter.isVisible(machine.vm) !== true || status?.nodeUID !== uid) return []
    if (said?.reason !== 'AddressOfAnotherNode' || isHeldForGood(world, node, machine)) return []
    if (node.spec.taints.every(({ key }) => key !== TAINT_UNINITIALIZED) || isDeparting(node)) return []
    const holders = machines.all.filter((each) => each !== machine && each.address === machine.address)
    return holders.every((each) => each.destroyed && isKnown(world, each))
      ? [`${name} ${uid} ${api.holder.identity}`]
      : []
  })
}

/**
 * Whether its address is that of a Node of which nobody can prove that its VM is gone, as its vCenter is no longer there; or
 * whether that Node's VM has had a copy, which may have its instance UUID as well.
 */
export function isHeldForGood(world: World, node: StoredNode, { address }: Machine): boolean {
  const { api, vCenters } = world
  return [...api.nodes.values()].some((other) => {
    const { vm } = api.reports.get(other.metadata.name)?.status ?? {}
    const gone = vCenters.every(({ instanceUUID }) => instanceUUID !== vm?.vCenterInstanceUUID)
    return (
      other !== node &&
      ((vm !== undefined && gone) || hasCopy(world, other.metadata.uid)) &&
      machinesOf(world, other.metadata.uid).some((machine) => machine.address === address)
    )
  })
}

/** Whether the leader has heard that a machine is gone since it is, or its Node is gone itself. */
function isKnown({ api, judge }: World, { nodeName, nodeUID, vanishedAt }: Machine): boolean {
  const node = api.nodes.get(nodeName)
  if (node?.metadata.uid !== nodeUID || node === undefined) return true
  const [last] = judge.work(api.holder.identity, nodeName).heard ?? []
  return readyOf(node) !== 'True' && last?.whole === true && last.beside && last.at > vanishedAt
}
