/** An InternalIP is an address that the machine of its Node has, or had when a controller last heard of it; never another's. */
import { TIMINGS } from '../../../controller/vcenter/timings.ts'
import { canSpeak, type Machine } from '../model/machine.ts'
import { isDeparting, type StoredNode } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import { createStopwatch } from './stopwatch.ts'

const PROMISE = "an address of a Node is its machine's own"

/** Longer than what was decided takes to be written, milliseconds. */
const WRITTEN = 30_000

/** Longer than the longest pause before a vCenter is connected to again, and than what follows takes; milliseconds. */
const CONNECTED = TIMINGS.backoff.max + 60_000

export const createOwnAddressJudge = () => createStopwatch(PROMISE, othersAddresses, CONNECTED)

/** Judged when a controller writes a Node. */
export function judgeWrittenAddresses(world: World, by: string, before: StoredNode, after: StoredNode): void {
  const { name, uid } = before.metadata
  const had = internalIPs(before)
  const machines = machinesOf(world, uid)
  for (const address of internalIPs(after))
    if (!had.includes(address) && !machines.some((each) => isItsOwn(world, by, each, address)))
      world.judge.violate(PROMISE, `${by} writes ${address} to ${name}`)
}

/** Whether a machine has an address, or its agent has reported it last, as far as this controller can have heard. */
export function isItsOwn({ judge, timeline }: World, by: string, machine: Machine, address: string): boolean {
  const until = machine.reported.get(address) ?? Number.NEGATIVE_INFINITY
  const { arrived = 0 } = judge.work(by, machine.nodeName)
  return machine.address === address || until >= arrived || timeline.now - until < WRITTEN
}

/** Those of Nodes of which it is said that all is well, though their machine has reported another, which is its own. */
function othersAddresses(world: World): readonly string[] {
  const { api } = world
  return [...api.nodes.values()].flatMap((node) => {
    const { name, uid } = node.metadata
    const [machine, ...others] = machinesOf(world, uid)
    const status = api.reports.get(name)?.status
    if (machine === undefined || others.length > 0 || status?.nodeUID !== uid || !canSpeak(machine)) return []
    // Nothing is written to a Node that is being deleted.
    if (isDeparting(node)) return []
    if (mayBeUnread(world, machine)) return []
    const says = (wanted: string, so: string): boolean =>
      status.conditions.some(({ type, status }) => type === wanted && status === so)
    if (!['VMFound', 'AddressesResolved', 'Initialized'].every((type) => says(type, 'True'))) return []
    // Nothing is written to one whose identity is contradicted, and that is said.
    if (says('IdentityVerified', 'False')) return []
    const { address = '', reported } = machine
    if (reported.get(address) !== Number.POSITIVE_INFINITY) return []
    return internalIPs(node).flatMap((each) => (each === address ? [] : [`${each} of ${name}`]))
  })
}

/**
 * Whether a VM may not have been read since it changed: the leader has no session in its vCenter, calls to that fail, so that a
 * session may not last long enough, or it has told nobody of a change, and not all has been read again since.
 */
export function mayBeUnread({ timeline, judge, api }: World, { vm }: Machine): boolean {
  if (vm === undefined) return false
  if (!judge.canAsk(api.holder.identity, vm.vCenter)) return true
  const lostAt = vm.vCenter.lostAt.get(vm.moref)
  return vm.vCenter.errors > 0 || (lostAt !== undefined && timeline.now - lostAt < TIMINGS.resync)
}

function internalIPs({ status }: StoredNode): readonly string[] {
  return status.addresses.flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : []))
}
