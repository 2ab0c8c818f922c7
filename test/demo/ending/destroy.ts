import type { Condition } from '../../../agent/shared/node-report.ts'
import { loseHeartbeats } from '../../world/kubelet.ts'
import { eventsOn, type ObservedEvent } from '../events.ts'
import type { ExpectedNode } from '../scene.ts'
import { LIFECYCLE } from './times.ts'
import { type Scenery, waitFor } from './wait-for.ts'
import { conditionOf, sayCondition, sayEvent } from './words.ts'

/** How a Node went. */
export interface Destruction {
  /** Milliseconds from the VM's end to the Node's. */
  readonly after: number
  /** What DeletionPending said, one after the other. */
  readonly said: readonly Condition[]
  /** On the Node. */
  readonly events: readonly ObservedEvent[]
}

/** Destroys the VM, and all that runs in it with it, and shows its Node on its way out. */
export async function destroy(scenery: Scenery, { name, vm }: ExpectedNode): Promise<Destruction> {
  const { site, agents, narrator, signal } = scenery
  const { cluster, vcsim } = site
  narrator.open(
    'A VM is destroyed:',
    `${vm.name}, that of ${name}. Its kubelet and its agent are silent from now on. It takes ${LIFECYCLE.confirmations} proofs that the VM is gone, over ${LIFECYCLE.absentFor} here and 5 minutes by default, and the Node is deleted.`,
  )
  await agents.get(name)?.stop()
  agents.delete(name)
  await loseHeartbeats(cluster, name)
  await vcsim.govc('vm.destroy', vm.name)
  const said: Condition[] = []
  const { after } = await waitFor(scenery, `Node ${name} is deleted`, ({ nodes, reports }, elapsed) => {
    const now = conditionOf(reports.get(name), 'DeletionPending')
    if (now !== undefined && now.message !== said.at(-1)?.message) {
      said.push(now)
      narrator.say(sayCondition(now), elapsed)
    }
    return nodes.has(name) ? undefined : true
  })
  narrator.say(`Node ${name} is deleted.`, after)
  const events = await eventsOn(cluster, name, 'NodeDeleted', signal)
  for (const event of events.filter(({ reason }) => reason === 'NodeDeleted')) narrator.say(sayEvent(event))
  return { after, said, events }
}
