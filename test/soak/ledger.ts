/** What `lifecycle.unbound` may be. */
export const UNBOUND = ['report', 'delete'] as const
export type Unbound = (typeof UNBOUND)[number]

/** A machine as it really is, whatever vCenter shows of it. */
export interface SoakMachine {
  readonly node: string
  readonly biosUUID: string
  /** The Node that its kubelet registered. */
  nodeUID: string | undefined
  /** The Node for which its agent has reported, or has begun to. */
  reportedFor: string | undefined
  runs: boolean
  /** When it began to be destroyed, milliseconds by the ledger's clock. */
  destroyedAt: number | undefined
}

export interface HistoryEntry {
  readonly at: number
  readonly what: string
}

/** A Node that was deleted and should not have been. */
export interface WrongDeletion {
  readonly at: number
  readonly node: string
  readonly uid: string
  readonly why: string
}

/** Knows what was done to which machine, and judges each deletion of a Node by that alone. */
export interface Ledger {
  readonly machines: readonly SoakMachine[]
  readonly wrong: readonly WrongDeletion[]
  /** Milliseconds from the end of a VM to that of its Node, one for each that Rollcall deleted rightly. */
  readonly deletedAfter: readonly number[]
  add(machine: Pick<SoakMachine, 'node' | 'biosUUID'>): SoakMachine
  note(node: string, at: number, what: string): void
  /** Somebody other than Rollcall is about to delete this Node. */
  removedByPerson(nodeUID: string): void
  /** To be called for each Node that the API server says is deleted. Undefined where that is right. */
  deleted(node: { readonly name: string; readonly uid: string }, at: number): WrongDeletion | undefined
  history(node: string): readonly HistoryEntry[]
}

export interface Rules {
  /** Milliseconds that a VM must have been gone at the very least before its Node may go. */
  readonly provingTime: number
  /** With `report`, a Node for which no agent has reported is for a person to delete. */
  readonly unbound: Unbound
}

export function createLedger({ provingTime, unbound }: Rules): Ledger {
  const machines: SoakMachine[] = []
  const wrong: WrongDeletion[] = []
  const deletedAfter: number[] = []
  const histories = new Map<string, HistoryEntry[]>()
  const removed = new Set<string>()

  function note(node: string, at: number, what: string): void {
    const entries = histories.get(node) ?? []
    entries.push({ at, what })
    histories.set(node, entries)
  }

  /** Undefined where the Node may be deleted at this time, whose kubelets ran on these machines. */
  function objection(nodeUID: string, users: readonly SoakMachine[], at: number): string | undefined {
    if (users.length === 0) return 'no kubelet of a known machine has registered it'
    if (unbound === 'report' && !users.some(({ reportedFor }) => reportedFor === nodeUID))
      return 'no agent has reported for it, and lifecycle.unbound is report'
    const there = users.find(({ destroyedAt }) => destroyedAt === undefined)
    if (there !== undefined) return `its VM (${there.biosUUID}) exists`
    const since = at - lastEnd(users)
    return since < provingTime
      ? `its VM existed ${Math.round(since)} ms before, and the proof takes ${provingTime} ms`
      : undefined
  }

  return {
    machines,
    wrong,
    deletedAfter,
    add({ node, biosUUID }) {
      const machine: SoakMachine = {
        node,
        biosUUID,
        nodeUID: undefined,
        reportedFor: undefined,
        runs: true,
        destroyedAt: undefined,
      }
      machines.push(machine)
      return machine
    },
    note,
    removedByPerson: (nodeUID) => void removed.add(nodeUID),
    deleted({ name, uid }, at) {
      note(name, at, `Node ${uid} is deleted${removed.has(uid) ? ' by a person' : ''}`)
      if (removed.has(uid)) return undefined
      const users = machines.filter(({ nodeUID }) => nodeUID === uid)
      const why = objection(uid, users, at)
      if (why === undefined) {
        deletedAfter.push(at - lastEnd(users))
        return undefined
      }
      const found = { at, node: name, uid, why }
      wrong.push(found)
      return found
    },
    history: (node) => histories.get(node) ?? [],
  }
}

function lastEnd(users: readonly SoakMachine[]): number {
  return Math.max(...users.map(({ destroyedAt = Number.POSITIVE_INFINITY }) => destroyedAt))
}
