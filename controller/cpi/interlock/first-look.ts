import { firstAnswer } from '../../lib/tasks.ts'
import type { InterlockState } from '../../types/interlock-state.ts'
import { createInterlock, type InterlockOptions } from './interlock.ts'

export interface FirstLook {
  /** Undefined where the time was over before it was known. */
  readonly state: InterlockState | undefined
  /** As of `Interlock.remarks`. */
  readonly remarks: readonly string[]
}

/** Milliseconds for a look that a person waits for. */
const PATIENCE = 12_000

/** Whether Nodes are left to a CPI, by the leader's own code and one look. */
export async function firstLook(
  options: Omit<InterlockOptions, 'onChange'>,
  signal: AbortSignal,
): Promise<FirstLook> {
  const interlock = createInterlock({ ...options, onChange: () => undefined })
  let known = false
  void interlock.known.then(() => {
    known = true
  })
  const answer = () => (known ? { state: interlock.state(), remarks: interlock.remarks() } : undefined)
  const found = await firstAnswer(interlock.run, answer, PATIENCE, options.clock, signal)
  return found ?? { state: undefined, remarks: [] }
}
