/** Applies pushed updates to VMs. No I/O. */
import type { Update } from '../collect/updates.ts'
import { changeMachine, enterMachine } from './pushed-properties.ts'
import type { VMProperties } from './vm-properties.ts'

export interface AppliedUpdates {
  readonly changed: readonly VMProperties[]
  /** Morefs of VMs whose UUIDs must be searched for again. */
  readonly left: readonly string[]
  /** Morefs of VMs that must be read again. */
  readonly unclear: readonly string[]
}

/**
 * Applies updates; `known` returns the present state of a VM. Updates of VMs that are no longer followed are ignored. An
 * update may come twice without harm.
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
