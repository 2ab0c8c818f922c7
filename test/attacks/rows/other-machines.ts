import { type AttackRow, NOTHING, theme } from './row.ts'

function row(tried: string, seen: string, refusedBy: AttackRow['refusedBy'] = 'controller'): AttackRow {
  return { credential: 'kubelet', tried, refusedBy, seen, victim: NOTHING }
}

/** A node writes its own report, as it may, and names another's machine in it. */
export const otherMachines = theme("Reporting another's machine as its own", {
  'proven VM': row("the UUID of a proven Node's VM", 'MACsContradict'),
  'proven VM with its MACs': row("facts of a proven Node's VM", 'ClaimedByAnotherNode'),
  'proven VM with both MACs': row('the same, with those of both machines', 'ClaimedByAnotherNode'),
  'reported VM': row("of a reported Node's VM", 'MACsContradict'),
  'reported VM with its MACs': row("facts of a reported Node's VM", 'VMHasAnotherNode'),
  'VM without a Node': row('of a VM without a Node', 'MACsContradict'),
  'no VM': row('a UUID that no VM has', 'NoVMWithUUID'),
  'VM that is off': row('facts of a VM that is off', 'VMNotRunning'),
  'another VM later': row("the truth until proven, then the victim's facts", 'ProviderIDOfAnotherVM'),
  'two VMs at once': row("its own UUID as product_serial, the victim's as product_uuid", 'UUIDsContradict'),
  'provider ID at registration': row(
    "the victim's provider ID at registration, then the truth",
    'ProviderIDOfAnotherVM',
  ),
  "the victim's address": row("the truth, with the victim's address", 'AddressOfAnotherNode'),
  'the address of one that is off': row('or that of one that is off and silent', 'AddressOfAnotherNode'),
  "the victim's MAC": row("the truth, and the victim's vNIC with its address", 'Proven', 'nobody needs to'),
  "the victim's names": row('the truth, under its host names', 'Proven', 'nobody needs to'),
})
