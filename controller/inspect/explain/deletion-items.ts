import type { Condition } from '../../../agent/shared/node-report.ts'
import { PROOFS, type UnmetPrecondition } from '../../loops/node/decide/lifecycle/absence-proofs.ts'
import { heldBy, PRECONDITIONS } from '../../loops/node/decide/lifecycle/deletion-rules.ts'
import type { Node } from '../../types/node.ts'
import type { DeletionItem } from './facts.ts'

export interface DeletionLook {
  readonly node: Node
  /** DeletionPending as the leader wrote it; undefined where it has not. */
  readonly leader: Condition | undefined
  /** Whether vCenter was to be asked. */
  readonly asked: boolean
  /** What is missing by one probe of the VM that was made now; undefined where none was. */
  readonly fresh: readonly UnmetPrecondition[] | undefined
}

/** Preconditions that one look answers: they depend on the configuration and the cluster alone. */
const BY_ONE_LOOK: ReadonlySet<string> = new Set([
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
 * All that must hold before a Node is deleted, and what of it does, by the leader's own lists. Its conditions hold what is
 * missing, the first of it as their reason; how long it has been proven stands in its memory alone.
 */
export function deletionItems(look: DeletionLook): readonly DeletionItem[] {
  return [
    ...PROOFS.map(({ name, holds }) => ({ name, what: holds, ...proofOf(name, look) })),
    ...PRECONDITIONS.map(({ name, holds }) => ({ name, what: holds, ...preconditionOf(name, look) })),
  ]
}

type Found = Pick<DeletionItem, 'state' | 'why'>

const UNKNOWN: Found = { state: 'unknown', why: LEADER_ALONE }

/** Where one probe would tell. */
function unprobed({ asked }: DeletionLook): Found {
  return { state: 'unknown', why: asked ? NOT_PROBED : NOT_ASKED }
}

function proofOf(name: string, look: DeletionLook): Found {
  const { leader, fresh } = look
  if (fresh !== undefined) return byOneLook(name, fresh)
  // It is True only where the proof is complete.
  return leader?.status === 'True' ? { state: 'ok' } : unprobed(look)
}

function byOneLook(name: string, fresh: readonly UnmetPrecondition[]): Found {
  const missing = fresh.find((each) => each.name === name)
  return missing === undefined ? { state: 'ok' } : { state: 'no', why: missing.message }
}

function preconditionOf(name: string, look: DeletionLook): Found {
  const { node, leader, fresh } = look
  if (name === 'NotHeld') return notBy(heldBy(node)?.message)
  if (name === 'NodeNotReady') return notBy(node.ready?.status === 'True' ? READY : undefined)
  const byOne = BY_ONE_LOOK.has(name)
  if (fresh !== undefined && byOne) return byOneLook(name, fresh)
  const said = fresh?.find((each) => each.name === name)?.message
  if (said !== undefined && leader?.message.includes(said)) return { state: 'no', why: said }
  const found = leader?.status === 'True' ? byLeader(name, leader) : UNKNOWN
  return byOne && found === UNKNOWN ? unprobed(look) : found
}

function notBy(why: string | undefined): Found {
  return why === undefined ? { state: 'ok' } : { state: 'no', why }
}

/** The reasons by which each precondition may be told. */
const REASON_OF: Readonly<Record<string, readonly string[]>> = {
  DeletionOn: ['DeletionOff'],
  NotHeld: ['DeletionHeld'],
  SeenOrWanted: ['NotBound'],
  BrakeReleased: ['BrakeEngaged', 'BrakeUndecided'],
  NodeNotReady: ['NodeReady'],
  NoLifeSign: ['SignOfLife'],
  KubeletSilent: ['SignOfLife', 'HeartbeatUnknown'],
  LeaderSettled: ['LeaderTooYoung'],
  Confirmed: ['NotConfirmed'],
  ConfirmedJustNow: ['NotConfirmed'],
  OthersRead: ['NotConfirmed'],
  VolumesDetached: ['VolumesAttached', 'VolumesUnknown'],
  NotRefused: ['DeletionRefused'],
  RateAllows: ['RateLimited'],
  NotDryRun: ['DryRun'],
  OthersCounted: ['NotConfirmed'],
}

/** The reason is that of the first precondition that does not hold: those before it do. */
function byLeader(name: string, { reason }: Condition): Found {
  const names = PRECONDITIONS.map((each) => each.name)
  const may = names.filter((each) => REASON_OF[each]?.includes(reason))
  const [first] = may
  if (reason === 'VMGone' || (first !== undefined && names.indexOf(name) < names.indexOf(first)))
    return { state: 'ok' }
  if (may.length === 1 && first === name) return { state: 'no', why: `${reason}, as the leader says above` }
  return may.includes(name)
    ? { state: 'unknown', why: `${reason}, as the leader says above, may be this` }
    : UNKNOWN
}
