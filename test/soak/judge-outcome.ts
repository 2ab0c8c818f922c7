/** What was wrong in the whole of a soak. */
import type { NodeProblem } from './judge-nodes.ts'
import type { WrongDeletion } from './ledger.ts'
import { judgeMemory } from './memory.ts'

/** What the client of each session that lives in vCenter called itself: each client has a name of its own. */
export interface SessionClients {
  readonly soap: readonly string[]
  readonly rest: readonly string[]
}

interface Outcome {
  readonly wrong: readonly Pick<WrongDeletion, 'node' | 'uid' | 'why'>[]
  readonly held: readonly NodeProblem[]
  readonly memory: Parameters<typeof judgeMemory>[0]
  readonly sessions: SessionClients
  /** How often a replica was killed. */
  readonly kills: number
  /** What the soak itself could not do. */
  readonly failures: readonly string[]
  readonly minutes: number
}

/** What was wrong, in the order of its weight; with the Node where it is about one. */
export function judgeOutcome({
  wrong,
  held,
  memory,
  sessions,
  kills,
  failures,
  minutes,
}: Outcome): readonly { readonly what: string; readonly node?: string }[] {
  return [
    ...wrong.map(({ node, uid, why }) => ({ what: `Node ${node} (${uid}) was deleted: ${why}`, node })),
    ...held.map(({ node, problem }) => ({ what: `${node}: ${problem}`, node })),
    ...judgeMemory(memory, minutes).map((what) => ({ what })),
    ...judgeSessions(sessions, kills).map((what) => ({ what })),
    ...failures.map((what) => ({ what: `the soak itself failed: ${what}` })),
  ]
}

/** The leader has one session of each kind; who was killed could not end his own. */
function judgeSessions(sessions: SessionClients, kills: number): readonly string[] {
  return Object.entries(sessions).flatMap(([kind, clients]: [string, readonly string[]]) => {
    const counts = [...Map.groupBy(clients, (client) => client)].map(([, each]) => each.length)
    return [
      ...counts
        .filter((count) => count > 1)
        .map((count) => `one client has ${count} sessions of ${kind} in vCenter`),
      ...(counts.length > 1 + kills
        ? [`${counts.length} clients have sessions of ${kind} in vCenter, ${1 + kills} may`]
        : []),
    ]
  })
}
