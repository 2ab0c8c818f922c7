import type { Condition } from '../../../agent/shared/node-report.ts'
import { heartbeat, loseHeartbeats } from '../../world/kubelet.ts'
import type { ExpectedNode } from '../scene.ts'
import { HOLD } from './times.ts'
import { type Scenery, waitFor } from './wait-for.ts'
import { conditionOf, sayCondition } from './words.ts'

export interface PrivilegeLoss {
  /** DeletionPending of each Node while it lasted, by name. */
  readonly said: ReadonlyMap<string, Condition>
  /** Milliseconds that it lasted. */
  readonly lasted: number
}

export interface Company {
  /** Those that are left. */
  readonly nodes: readonly ExpectedNode[]
  /** Those of them whose machine runs. */
  readonly running: readonly ExpectedNode[]
}

/** A privilege that is named together with the object where it is missing, in the words of a condition. */
export const NAMES_PRIVILEGE = /the account lacks .*System\.Read on \w+ ".+"/

/**
 * Takes the account's privileges away while no kubelet is heard, and starts the controller anew, so that it knows nothing
 * of the time before; gives them back after a while, and waits until every VM is found again.
 */
export async function losePrivileges(scenery: Scenery, { nodes, running }: Company): Promise<PrivilegeLoss> {
  const { site, narrator } = scenery
  const { cluster, vcsim } = site
  const names = nodes.map(({ name }) => name)
  narrator.open(
    'The account loses its read privilege',
    `on everything, while no kubelet is heard: all ${names.length} Nodes are NotReady. And the controller is started anew, so that it has never seen a VM. Its searches succeed, and find none.`,
  )
  await loseHeartbeats(cluster, ...names)
  const start = performance.now()
  await vcsim.revoke()
  await site.restartController()
  const { value: said, after } = await waitFor(
    scenery,
    'each report says what is missing',
    ({ reports }) => {
      const conditions = names.flatMap((name) => {
        const condition = conditionOf(reports.get(name), 'DeletionPending')
        const named = condition?.status === 'Unknown' && NAMES_PRIVILEGE.test(condition.message)
        return named ? [[name, condition] as const] : []
      })
      return conditions.length === names.length ? new Map(conditions) : undefined
    },
    { since: start },
  )
  narrator.say(`All ${names.length} Nodes are kept, and each report says why. That of ${names[0]}:`, after)
  for (const condition of [...said.values()].slice(0, 1)) narrator.say(sayCondition(condition))
  const held = await waitFor(
    scenery,
    'more than twice the time of a deletion is over',
    ({ nodes }, elapsed) => {
      const count = names.filter((name) => nodes.has(name)).length
      return elapsed > HOLD || count < names.length ? count : undefined
    },
  )
  narrator.say(`${held.value} of ${names.length} Nodes are there.`, performance.now() - start)

  await vcsim.restore()
  await Promise.all(running.map(({ name }) => heartbeat(cluster, name)))
  const lasted = performance.now() - start
  const back = await waitFor(
    scenery,
    'each VM is found again, now that the privilege is back',
    ({ reports }) => (names.every((name) => isFound(reports.get(name))) ? true : undefined),
  )
  narrator.say('The privilege is back, and each VM is found again.', back.after)
  return { said, lasted }
}

function isFound(report: Parameters<typeof conditionOf>[0]): boolean {
  return (
    conditionOf(report, 'VMFound')?.status === 'True' &&
    conditionOf(report, 'DeletionPending')?.status === 'False'
  )
}
