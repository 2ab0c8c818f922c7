import { type AttackRow, NOTHING, theme } from './row.ts'

function row(tried: string, seen: string, refusedBy: AttackRow['refusedBy'] = 'controller'): AttackRow {
  return { credential: "worker-1's kubelet", tried, refusedBy, seen, victim: NOTHING }
}

/** A node writes its own report, as it may, and names another's machine in it. */
export const otherMachines = theme("Reporting another's machine as its own", {
  'proven VM': row('the UUID of a VM whose Node is proven', 'MACsContradict'),
  'proven VM with its MACs': row('UUID and MACs of a VM whose Node is proven', 'ClaimedByAnotherNode'),
  'proven VM with both MACs': row('the same, with those of both machines', 'ClaimedByAnotherNode'),
  'reported VM': row('the UUID of a VM whose Node is only reported', 'MACsContradict'),
  'reported VM with its MACs': row('UUID and MACs of a VM whose Node is only reported', 'VMHasAnotherNode'),
  'VM without a Node': row('the UUID of a VM without a Node', 'MACsContradict'),
  'no VM': row('a UUID that no VM has', 'NoVMWithUUID'),
  'VM that is off': row('UUID and MACs of a VM that is off', 'VMNotRunning'),
  'another VM later': row("the truth until proven, then the victim's UUID and MACs", 'ProviderIDOfAnotherVM'),
  'two VMs at once': row("its own UUID as product_serial, the victim's as product_uuid", 'UUIDsContradict'),
  'provider ID at registration': row(
    "the victim's provider ID at registration, then the truth",
    'ProviderIDOfAnotherVM',
  ),
  "the victim's address": row("the truth, with the victim's address", 'AddressOfAnotherNode'),
  'the address of one that is off': row(
    'the truth, with the address of a victim that is off and silent',
    'AddressOfAnotherNode',
  ),
  "the victim's MAC": row("the truth, and the victim's vNIC with its address", 'Proven', 'nobody needs to'),
  "the victim's names": row("the truth, under the victim's host names", 'Proven', 'nobody needs to'),
})
