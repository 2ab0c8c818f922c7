import { type AttackRow, theme } from './row.ts'

const STAYS = 'gets its shutdown taint alone; volumes stay attached'

function row(credential: string, tried: string, seen: string, victim: string): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen, victim }
}

/** A VM that the Node was before, or may be by now, while the one that it is does not run. */
export const failovers = theme('Passing for a Node whose VM is off, or running beside it', {
  'copied claim': row(
    'a reader whose VM the Node was before its own showed a claim',
    "the victim's claim while it is off",
    'CopyFound',
    STAYS,
  ),
  'host away': row(
    'whoever may start VMs on an ESXi host cut off from vCenter',
    'to run there what was off, while the victim is off',
    'VMPoweredOff',
    STAYS,
  ),
  'former vCenter away': row(
    'whoever may start VMs of the vCenter from which the victim failed over',
    'to run its former VM while that vCenter is down and the victim off',
    'VMPoweredOff',
    STAYS,
  ),
})
