import type { Condition } from '../../../agent/shared/node-report.ts'
import type { Roles } from './roles.ts'
import { type Scenery, waitFor } from './wait-for.ts'
import { conditionOf, sayCondition } from './words.ts'

export interface Move {
  /** Milliseconds from the move to the report. */
  readonly after: number
  readonly condition: Condition
}

/** Moves a running VM to a host of another zone, and waits until that is reported. */
export async function move(scenery: Scenery, { moved, moveTo }: Roles): Promise<Move> {
  const { site, narrator } = scenery
  const { name, vm, zone } = moved
  narrator.open(
    'A third one is moved (vMotion):',
    `${vm.name}, that of ${name}, from ${vm.host} in ${zone} to ${moveTo.host} in ${moveTo.zone}. Volumes and pods may rest on the old zone, so the labels stay until a person decides.`,
  )
  await site.vcsim.move({ vm: vm.ref, host: moveTo.host })
  const { value, after } = await waitFor(scenery, `the report of ${name} says so`, ({ reports }) => {
    const condition = conditionOf(reports.get(name), 'TopologyResolved')
    return condition?.status === 'False' ? condition : undefined
  })
  narrator.say(sayCondition(value), after)
  return { after, condition: value }
}
