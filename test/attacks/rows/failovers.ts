import { type AttackRow, theme } from './row.ts'

const STAYS = 'gets its shutdown taint alone: its volumes stay attached until nothing else may run'

function row(credential: string, tried: string, seen: string, victim: string): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen, victim }
}

/** A VM that the Node was before, or may be by now, while the one that it is does not run. */
export const failovers = theme('Passing for a Node whose VM is off, or running beside it', {
  'copied claim': row(
    'a tenant who may also read, and whose VM the Node was before its own showed a claim',
    "the victim's claim while it is off",
    'CopyFound',
    STAYS,
  ),
  'host away': row(
    'whoever may start VMs at an ESXi host that is cut off from vCenter',
    'to run there what was off beside the victim, while that is off',
    'VMPoweredOff',
    STAYS,
  ),
  'former vCenter away': row(
    'whoever may start VMs of the vCenter from which the victim failed over',
    'to run its former VM while that vCenter does not answer and the victim is off',
    'VMPoweredOff',
    STAYS,
  ),
})
