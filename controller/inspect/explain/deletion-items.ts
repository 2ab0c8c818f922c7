import type { Condition } from '../../../agent/shared/node-report.ts'
import { PROOFS, type UnmetPrecondition } from '../../loops/node/decide/lifecycle/absence-proofs.ts'
import { heldBy, holdsByList, PRECONDITIONS } from '../../loops/node/decide/lifecycle/deletion-rules.ts'
import type { Node } from '../../types/node.ts'
import type { DeletionItem } from './facts.ts'

export interface DeletionLook {
  readonly node: Node
  /** DeletionPending as the leader wrote it; undefined where it has not. */
  readonly leader: Condition | undefined
  /** The names of what the leader found unmet; undefined where it has not said. */
  readonly listed: readonly string[] | undefined
  /** Whether vCenter was to be asked. */
  readonly asked: boolean
  /** What is missing by one probe of the VM that was made now; undefined where none was. */
  readonly fresh: readonly UnmetPrecondition[] | undefined
}

/** What one look answers: it depends on vCenter, the configuration and the cluster alone. */
const BY_ONE_LOOK: ReadonlySet<string> = new Set([
  ...PROOFS.map(({ name }) => name),
  'DeletionOn',
  'SeenOrWanted',
  'VolumesDetached',
  'NotDryRun',
])
const LEADER_ALONE = 'only the leader knows'
const NOT_ASKED = 'not asked: give --config'
const NOT_PROBED = 'nothing was probed: a vCenter has not answered, or shows the VM'
const READY = 'the Node is Ready, so its machine runs somewhere'

/**
 * All that must hold before a Node is deleted, and what of it does, by the leader's own lists. The report's status has what
 * is missing; for how long an absence has been proven is in the leader's memory alone.
 */
export function deletionItems(look: DeletionLook): readonly DeletionItem[] {
  return [...PROOFS, ...PRECONDITIONS].map((row) => ({
    name: row.name,
    what: row.holds,
    ...find(row, look),
  }))
}

type Found = Pick<DeletionItem, 'state' | 'why'>

function find(row: Parameters<typeof holdsByList>[1], look: DeletionLook): Found {
  const { name } = row
  const { node, leader, listed, asked, fresh } = look
  if (name === 'NotHeld') return notBy(heldBy(node)?.message)
  if (name === 'NodeNotReady') return notBy(node.ready?.status === 'True' ? READY : undefined)
  const byOneLook = BY_ONE_LOOK.has(name)
  if (fresh !== undefined && byOneLook) return notBy(fresh.find((each) => each.name === name)?.message)
  const holds = listed && holdsByList(listed, row)
  if (holds === true) return { state: 'ok' }
  if (holds === false) {
    // The condition gives the reason of the first.
    const reason = name === listed?.[0] ? `${leader?.reason}, ` : ''
    return { state: 'no', why: `${reason}as the leader says above` }
  }
  const unprobed = asked ? NOT_PROBED : NOT_ASKED
  return { state: 'unknown', why: byOneLook ? unprobed : LEADER_ALONE }
}

function notBy(why: string | undefined): Found {
  return why === undefined ? { state: 'ok' } : { state: 'no', why }
}
