import { type AttackRow, NOTHING, theme } from './row.ts'

const WHO = "whoever answers at a vCenter's address, with a certificate that is trusted"

function row(tried: string, seen: string, victim = NOTHING): AttackRow {
  return { credential: WHO, tried, refusedBy: 'controller', seen, victim }
}

/** Another vCenter answers where the Node's own did. */
export const standIns = theme('Answering in the place of a vCenter', {
  'same references': row('another vCenter, whose VMs have the same references', 'NoVMWithUUID'),
  'shows nothing': row(
    'one that shows no VM, so that it counts as empty when a VM of another vCenter is destroyed',
    'CanaryNotFound',
    'its Node is kept while a Node of the former vCenter is Ready',
  ),
})
