/** Lets each Node wait for what the vCenters answer at the start. */
import { anySignal } from '../../agent/shared/any-signal.ts'
import type { Clock } from '../../agent/shared/clock.ts'
import type { NodeIndex } from '../loops/node/gather/node-index.ts'
import { type Inventory, isKnown } from '../types/inventory.ts'

/**
 * How long the first decisions wait for what the vCenters answer, milliseconds. Without it each Node would be decided on three
 * times at a start: before its VM is known, before the VM's tags are, and then. Answers about many VMs take longer; but a
 * vCenter that hangs must not keep the Nodes of others waiting for long.
 */
const FIRST_ANSWERS = { least: 2_000, perNode: 2, most: 10_000 }

/**
 * Keeps Nodes back until `run`, which begins when all of them are listed. A vCenter answers for thousands of VMs group by group:
 * the Nodes of the first are written while the last are read.
 */
export function createFirstAnswers({
  index,
  inventories,
  enqueue,
  clock,
}: {
  readonly index: Pick<NodeIndex, 'uuidsOf'>
  readonly inventories: readonly Pick<Inventory, 'lookup'>[]
  readonly enqueue: (name: string, why?: 'itself') => void
  readonly clock: Clock
}) {
  const waiting = new Set<string>()
  const answered = new AbortController()
  let state: 'listing' | 'answering' | 'over' = 'listing'

  function isAnswered(name: string): boolean {
    return index
      .uuidsOf(name)
      .every((uuid) => inventories.every((inventory) => isKnown(inventory.lookup(uuid))))
  }

  function endIfAllAreAnswered(): void {
    if (state === 'answering' && waiting.size === 0) answered.abort()
  }

  function add(name: string, why?: 'itself'): void {
    if (state === 'listing' || (state === 'answering' && !isAnswered(name))) {
      waiting.add(name)
      return
    }
    // Not only the Node itself is new then, but also the answers that it has waited for.
    const waited = waiting.delete(name)
    enqueue(name, waited ? undefined : why)
    endIfAllAreAnswered()
  }

  return {
    /** Hands a Node on, at once or when it no longer has to wait. */
    add,
    /** Whether no Node waits any more. */
    isOver: () => state === 'over',
    /** Hands on each Node as soon as all vCenters have answered for it, and all that are left after a while. */
    async run(nodes: number, signal: AbortSignal): Promise<void> {
      state = 'answering'
      for (const name of [...waiting]) add(name)
      endIfAllAreAnswered()
      const { least, perNode, most } = FIRST_ANSWERS
      const atMost = Math.min(Math.max(least, perNode * nodes), most)
      await clock.sleep(atMost, anySignal([signal, answered.signal]))
      state = 'over'
      for (const name of waiting) enqueue(name)
      waiting.clear()
    },
  }
}
