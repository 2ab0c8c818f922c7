import { TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import { type Machine, shownPower } from '../model/machine.ts'
import { isDeparting, readyOf, type StoredNode } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import { hasCopy, isLeftBehind } from './binding.ts'
import { mayBeUnread } from './own-addresses.ts'
import { createStopwatch } from './stopwatch.ts'

/**
 * Who waits for an address is initialized soon after the machine that has held it is proven gone; no two Nodes whose machines
 * are there are both said to have one; and a Node that vCenter shows at an address does not wait for one that it shows elsewhere.
 */
export function createAddressJudge(): { look(world: World): void } {
  const inVain = createStopwatch('who waits for an address is told', waitsInVain)
  const shared = createStopwatch('no address is on two Nodes', sharedAddresses)
  const squatted = createStopwatch('whom vCenter shows at an address gets it', squattedAddresses)
  return {
    look(world) {
      inVain(world)
      shared(world)
      squatted(world)
    },
  }
}

/** Nodes that vCenter shows at an address, and that wait for others that it shows elsewhere. */
function squattedAddresses(world: World): readonly string[] {
  const { api, machines } = world
  return [...api.nodes.values()].flatMap(({ metadata: { name, uid } }) => {
    const status = api.reports.get(name)?.status
    const [machine, ...others] = machinesOf(world, uid)
    if (machine === undefined || others.length > 0 || !isToldOf(machine) || status?.nodeUID !== uid) return []
    if (isCopied(world, machine) || mayBeUnread(world, machine)) return []
    const conditionOf = (wanted: string) => status.conditions.find(({ type }) => type === wanted)
    const said = conditionOf('AddressesResolved')
    // What is said of its addresses stands for as long as its VM is not found.
    if (said?.reason !== 'AddressOfAnotherNode' || conditionOf('VMFound')?.reason !== 'VMFound') return []
    if (reportedAddress(world, machine) !== machine.address) return []
    const rivals = machines.all.filter(
      (each) =>
        each !== machine && (each.address === machine.address || saysItHas(world, each, machine.address)),
    )
    return rivals.every(
      (each) =>
        each.address !== machine.address &&
        isToldOf(each) &&
        !isCopied(world, each) &&
        !isUnseen(world, each, said.message),
    )
      ? [`${name} ${machine.address} ${api.holder.identity}`]
      : []
  })
}

/** What the last report of a machine says, which may be older than what its agent would say now. */
export function reportedAddress({ api }: World, { nodeName }: Machine): string | undefined {
  return api.reports.get(nodeName)?.spec.interfaces[0]?.addresses[0]?.address
}

/** Whether the agent of a machine reports an address of another, or its Node was verified with that. */
function saysItHas(
  { api }: World,
  { squats, nodeName, nodeUID }: Machine,
  address: string | undefined,
): boolean {
  const status = api.reports.get(nodeName)?.status
  const isIts = status?.nodeUID === nodeUID
  return squats === address || (isIts && status?.addresses?.some((each) => each.address === address) === true)
}

/** Whether vCenter shows all of a machine, its addresses included. */
function isToldOf({ vm, tools, power, address }: Machine): boolean {
  if (vm?.connectionState !== 'connected') return false
  const { vCenter, moref } = vm
  const shown = vCenter.isVisible(vm) && vCenter.faults.size === 0 && !vCenter.reticent.has(moref)
  return shown && tools && power === 'poweredOn' && address !== undefined
}

/** Whether a configured copy of its vCenter shows its VM, without addresses: of two views of a VM that is new, either may count. */
function isCopied({ clones, configFile }: World, { vm }: Machine): boolean {
  return clones.some(
    (clone) =>
      vm !== undefined &&
      clone.cloneOf === vm.vCenter &&
      configFile.names(clone.name) &&
      clone.vms.has(vm.moref),
  )
}

/**
 * Whether nothing is known of the VM that a machine's Node was verified to be, and whoever waits is told so: the machine goes
 * on as another, a copy of its vCenter does not show the same, or only that copy still shows the former one.
 */
function isUnseen({ api, clones, configFile }: World, { vm, nodeName }: Machine, told = ''): boolean {
  const bound = api.reports.get(nodeName)?.status.vm
  if (vm === undefined || bound === undefined) return false
  const configured = clones.filter(({ cloneOf, name }) => cloneOf === vm.vCenter && configFile.names(name))
  if (bound.moref !== vm.moref || bound.vCenterInstanceUUID !== vm.vCenter.instanceUUID)
    return (
      told.includes(`whether Node ${nodeName} has it: its VM is not found`) ||
      configured.some(({ vms }) => vms.has(bound.moref))
    )
  return configured.some((clone) => {
    const copy = clone.vms.get(vm.moref)
    const differs = copy !== undefined && shownPower(copy) !== shownPower(vm)
    return (differs || clone.reach !== 'works') && told.includes(`${clone.name} `)
  })
}

function sharedAddresses(world: World): readonly string[] {
  const { api, judge } = world
  const names = new Map<string, string[]>()
  for (const node of api.nodes.values()) {
    const { metadata, status: shown } = node
    const { name, uid } = metadata
    const status = api.reports.get(name)?.status
    const said = status?.conditions.find(({ type }) => type === 'AddressesResolved')
    if (status?.nodeUID !== uid || said?.status !== 'True') continue
    if (machinesOf(world, uid).every(({ destroyed }) => destroyed)) continue
    // One that vCenter says is gone holds none, though it runs.
    const [last] = judge.work(api.holder.identity, name).heard ?? []
    if (readyOf(node) !== 'True' && last?.gone === true) continue
    for (const { type, address } of shown.addresses)
      if (type === 'InternalIP') names.set(address, [...(names.get(address) ?? []), name])
  }
  return [...names].flatMap(([address, each]) =>
    each.length > 1 ? [`${address} ${each.join(' ')} ${api.holder.identity}`] : [],
  )
}

/** Nodes that wait for an address though the leader has heard that nobody has it. */
function waitsInVain(world: World): readonly string[] {
  const { api, machines } = world
  return [...api.nodes.values()].flatMap((node) => {
    const { name, uid } = node.metadata
    const status = api.reports.get(name)?.status
    const conditionOf = (wanted: string) => status?.conditions.find(({ type }) => type === wanted)
    const initialized = conditionOf('Initialized')
    const [machine] = machinesOf(world, uid)
    // Without a VM that is shown nothing is verified of a machine, and nothing given to it.
    if (machine?.vm?.vCenter.isVisible(machine.vm) !== true || status?.nodeUID !== uid) return []
    // It waits for something else first: as two vCenters disagree on its VM, or that VM is not its own any more.
    if (initialized?.reason !== 'AddressOfAnotherNode' || conditionOf('VMFound')?.reason !== 'VMFound')
      return []
    // It may be another's.
    const address = reportedAddress(world, machine)
    if (isHeldForGood(world, node, { address })) return []
    if (node.spec.taints.every(({ key }) => key !== TAINT_UNINITIALIZED) || isDeparting(node)) return []
    const holders = machines.all.filter(
      // Who only says that it is his is taken at his word while vCenter shows him nowhere else, as with an older backup.
      (each) =>
        each !== machine &&
        (each.address === address ||
          (saysItHas(world, each, address) &&
            (!isToldOf(each) ||
              isUnseen(world, each, initialized.message) ||
              [machine, each].some((one) => isCopied(world, one))))),
    )
    return holders.every((each) => each.destroyed && isKnown(world, each))
      ? [`${name} ${uid} ${api.holder.identity}`]
      : []
  })
}

/**
 * Whether its address is that of a Node of which nobody can prove that its VM is gone: its vCenter is no longer there, and nobody
 * has deleted the Node, or one lists a VM that its machine has left; or the search of some vCenter cannot be tried. Or that Node's VM has
 * had a copy, which may have its instance UUID as well. Or that Node is being deleted, and its machine lives.
 */
export function isHeldForGood(
  world: World,
  node: StoredNode,
  { address }: Pick<Machine, 'address'>,
): boolean {
  const { api, vCenters } = world
  return [...api.nodes.values()].some((other) => {
    const { vm, addresses = [] } = api.reports.get(other.metadata.name)?.status ?? {}
    if (other === node) return false
    // Nothing is written to it any more, and no VMware Tools say that its machine has another.
    const isUntold = machinesOf(world, other.metadata.uid).some(({ vm, tools }) => vm !== undefined && !tools)
    if (isDeparting(other) && isUntold && addresses.some((each) => each.address === address)) return true
    const gone = vCenters.every(({ instanceUUID }) => instanceUUID !== vm?.vCenterInstanceUUID)
    // Its report alone said which VM it was; that it holds the address, and until when, is told.
    const isUnreported = isDeparting(other) && !api.reports.has(other.metadata.name)
    return (
      ((vm !== undefined && gone && !isDeparting(other)) ||
        isUnreported ||
        isSearchUntried(world) ||
        isLeftBehind(world, other.metadata.name) ||
        hasLeft(world, other.metadata.uid) ||
        hasCopy(world, other.metadata.uid)) &&
      machinesOf(world, other.metadata.uid).some((machine) => machine.address === address)
    )
  })
}

/** Whether some vCenter shows VMs, none of them on a host that answers: it is not known to find what it has. */
export function isSearchUntried({ vCenters }: World): boolean {
  return vCenters.some(
    ({ vms }) =>
      vms.size > 0 && [...vms.values()].every(({ connectionState }) => connectionState !== 'connected'),
  )
}

/** Whether a vCenter lists a VM that the machine of this Node has left. */
export function hasLeft({ vCenters }: World, nodeUID: string): boolean {
  const listed = vCenters.flatMap(({ vms }) => [...vms.values()])
  return listed.some(({ machine, leftAt }) => leftAt !== undefined && machine?.nodeUID === nodeUID)
}

/** Whether the leader has heard that a machine is gone since it is, or its Node is gone itself. */
function isKnown({ api, judge }: World, { nodeName, nodeUID, vanishedAt }: Machine): boolean {
  const node = api.nodes.get(nodeName)
  if (node?.metadata.uid !== nodeUID || node === undefined) return true
  const [last] = judge.work(api.holder.identity, nodeName).heard ?? []
  const { vm } = api.reports.get(nodeName)?.status ?? {}
  const byItsOwn = vm === undefined || last?.vCenters.includes(vm.vCenterInstanceUUID) === true
  return readyOf(node) !== 'True' && last?.whole === true && last.beside && byItsOwn && last.at > vanishedAt
}
