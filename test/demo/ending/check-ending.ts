import type { Snapshot } from '../observe.ts'
import { isShutDown } from '../view.ts'
import type { Destruction } from './destroy.ts'
import { differences } from './differences.ts'
import { NAMES_PRIVILEGE, type PrivilegeLoss } from './lose-privileges.ts'
import type { Move } from './move.ts'
import type { PowerOff } from './power-off.ts'
import type { Roles } from './roles.ts'
import { ABSENT_FOR, DELETED_WITHIN, HOLD, TAINTED_WITHIN } from './times.ts'

/** What was seen of the ending. */
export interface EndingEvidence {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly destruction: Destruction
  readonly powerOff: PowerOff
  readonly move: Move
  readonly loss: PrivilegeLoss
}

/**
 * Whether to each Node that has happened which should, and nothing to all others.
 *
 * @returns one sentence for each thing that is not so
 */
export function checkEnding(
  { destroyed, poweredOff, moved }: Roles,
  { before, after, destruction, powerOff, move, loss }: EndingEvidence,
): string[] {
  const problems: string[] = []
  const expect = (holds: boolean, problem: string) => {
    if (!holds) problems.push(problem)
  }
  const gone = destroyed.name
  expect(!after.nodes.has(gone), `${gone}: the Node is there though its VM is gone`)
  const told = destruction.events.some(({ reason }) => reason === 'NodeDeleted')
  expect(told, `${gone}: no Event NodeDeleted says why it was deleted`)
  const waited = destruction.said.some(({ reason }) => reason === 'NotConfirmed')
  expect(waited, `${gone}: DeletionPending never said what was missing`)
  const took = Math.round(destruction.after)
  expect(
    took >= ABSENT_FOR,
    `${gone}: the Node was deleted after ${took} ms, before ${ABSENT_FOR} ms were over`,
  )
  expect(took <= DELETED_WITHIN, `${gone}: the Node was deleted after ${took} ms, expected ${DELETED_WITHIN}`)

  const off = poweredOff.name
  expect(isShutDown(after.nodes.get(off)), `${off}: has no shutdown taint though its VM is off`)
  const warned = powerOff.events.some(({ type, reason }) => type === 'Warning' && reason === 'VMShutDown')
  expect(warned, `${off}: no Warning VMShutDown says why it is tainted`)
  const tainted = Math.round(powerOff.after)
  expect(tainted <= TAINTED_WITHIN, `${off}: was tainted after ${tainted} ms, expected ${TAINTED_WITHIN}`)

  const { reason } = move.condition
  expect(reason === 'TopologyChanged', `${moved.name}: TopologyResolved says ${reason}, not TopologyChanged`)

  expect(loss.lasted >= HOLD, `the privileges were away for ${Math.round(loss.lasted)} ms, expected ${HOLD}`)
  for (const [name, was] of before.nodes) {
    if (name === gone) continue
    const is = after.nodes.get(name)
    if (is === undefined) {
      problems.push(`${name}: the Node was deleted though its VM exists`)
      continue
    }
    const changed = differences(was, is).filter((path) => name !== off || path !== 'spec.taints')
    expect(changed.length === 0, `${name}: these have changed: ${changed.join(', ')}`)
    if (was.spec.providerID === undefined) continue
    const named = NAMES_PRIVILEGE.test(loss.said.get(name)?.message ?? '')
    expect(named, `${name}: DeletionPending did not name the missing privilege`)
  }
  for (const name of after.nodes.keys()) expect(before.nodes.has(name), `${name}: the Node is new`)
  return problems
}
