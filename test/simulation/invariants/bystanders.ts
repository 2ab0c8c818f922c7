import { TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import { isDeparting } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import { createStopwatch } from './stopwatch.ts'

/** Until a read that is not answered is given up, and it is known for which VM; milliseconds. */
const FOUND_OUT = 180_000

/** Who waits though only the VM of another cannot be read. */
export function createBystanderJudge(): (world: World) => void {
  const promise = 'one VM that cannot be read holds up nobody'
  const isSilent = ({ vCenters }: World) =>
    vCenters.some(({ faults }) => [...faults.values()].includes('silent'))
  const told = createStopwatch(promise, (world) => (isSilent(world) ? [] : heldUp(world)))
  const found = createStopwatch(promise, (world) => (isSilent(world) ? heldUp(world) : []), FOUND_OUT)
  return (world) => {
    told(world)
    found(world)
  }
}

/** Nodes that wait though their own VMs are well, in a vCenter that fails for another. */
function heldUp(world: World): readonly string[] {
  const { api, settings, vCenters, clones } = world
  const areWell = vCenters.every(
    ({ errors, slowLogin, slowSetUp, loaded, searchBroken, denied }) =>
      errors === 0 &&
      slowLogin === 0 &&
      slowSetUp === 0 &&
      loaded === undefined &&
      !searchBroken &&
      denied.size === 0,
  )
  if (!areWell) return []
  return [...api.nodes.values()].flatMap((node) => {
    const { name, uid } = node.metadata
    const { spec, status } = api.reports.get(name) ?? {}
    const [machine, ...others] = machinesOf(world, uid)
    const vm = machine?.vm
    if (machine === undefined || vm === undefined || others.length > 0 || spec?.nodeUID !== uid) return []
    const { vCenter, folder } = vm
    const waits = node.spec.taints.some(({ key }) => key === TAINT_UNINITIALIZED) && !isDeparting(node)
    if (!waits || vCenter.faults.size === 0 || vCenter.faults.has(vm.moref) || !vCenter.isVisible(vm))
      return []
    if (machine.forged || machine.power !== 'poweredOn' || vm.connectionState !== 'connected') return []
    if (settings.datacenters[vCenter.name]?.includes(folder.datacenter) === false) return []
    const entries = [...vCenters, ...clones]
      .flatMap(({ vms }) => [...vms.values()])
      .filter(({ biosUUID }) => biosUUID === machine.biosUUID)
    const reasons = status?.conditions.map(({ reason }) => reason) ?? []
    if (entries.length !== 1 || node.spec.providerID !== undefined) return []
    if (reasons.includes('AddressOfAnotherNode') || api.burdens.has(name)) return []
    return [`${name} ${uid} ${api.holder.identity}`]
  })
}
