/** From what vCenter pushes to VMs. No I/O. */
import type { Update } from '../collect/updates.ts'
import { changeMachine, enterMachine, type VMProperties } from './vm-properties.ts'

export interface AppliedUpdates {
  readonly changed: readonly VMProperties[]
  /** References of VMs that are to be asked for. */
  readonly left: readonly string[]
  /** References of VMs that are to be read again. */
  readonly unclear: readonly string[]
}

/**
 * The VMs as the updates leave them; `known` gives what is known of one. Updates of VMs that are followed no longer are
 * passed over. An update that comes twice does no harm.
 */
export function applyUpdates(
  updates: readonly Update[],
  known: (vm: string) => VMProperties | undefined,
): AppliedUpdates {
  const machines = new Map<string, VMProperties>()
  const left = new Set<string>()
  const unclear = new Set<string>()
  for (const update of updates) {
    const vm = update.object.value
    const machine = machines.get(vm) ?? known(vm)
    if (machine === undefined) continue
    if (update.kind === 'leave') {
      left.add(vm)
      continue
    }
    left.delete(vm)
    if (update.kind === 'unclear') {
      unclear.add(vm)
      continue
    }
    machines.set(
      vm,
      update.kind === 'enter' ? enterMachine(machine, update.values) : changeMachine(machine, update.values),
    )
  }
  return { changed: [...machines.values()], left: [...left], unclear: [...unclear] }
}
