import { until } from '../../fixtures/until.ts'
import type { Program } from '../../world/program.ts'
import { look } from '../observe.ts'
import type { DemoSite } from '../site.ts'
import type { Terminal } from '../terminal.ts'
import { checkEnding } from './check-ending.ts'
import { destroy } from './destroy.ts'
import { losePrivileges } from './lose-privileges.ts'
import { move } from './move.ts'
import { createNarrator } from './narrator.ts'
import { powerOff } from './power-off.ts'
import { castRoles } from './roles.ts'
import { NotShown, type Scenery } from './wait-for.ts'

/** What came of it. */
export interface Ending {
  /** Those that still run. */
  readonly agents: ReadonlyMap<string, Program>
  readonly problems: readonly string[]
  /** Milliseconds; undefined where it did not get so far. */
  readonly deletedAfter?: number
  readonly taintedAfter?: number
}

export interface EndingContext {
  readonly agents: ReadonlyMap<string, Program>
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/** What becomes of Nodes whose VMs go, are off, move, or cannot be seen: one after the other, explained on screen. */
export async function showEnding(site: DemoSite, context: EndingContext): Promise<Ending> {
  const agents = new Map(context.agents)
  const narrator = createNarrator(context.terminal)
  const scenery: Scenery = { site, agents, narrator, signal: context.signal }
  const roles = castRoles(site.nodes)
  const nodes = site.nodes.filter((node) => node !== roles.destroyed)
  const running = nodes.filter((node) => node !== roles.poweredOff)
  try {
    await watched(scenery)
    const before = await look(site.cluster)
    const destruction = await destroy(scenery, roles.destroyed)
    const off = await powerOff(scenery, roles.poweredOff)
    const moved = await move(scenery, roles)
    const loss = await losePrivileges(scenery, { nodes, running })
    const after = await look(site.cluster)
    const problems = checkEnding(roles, { before, after, destruction, powerOff: off, move: moved, loss })
    const { destroyed, poweredOff, moved: moves } = roles
    if (problems.length === 0)
      narrator.say(
        `Only ${destroyed.name} was deleted, whose VM is gone. The ${after.nodes.size} other Nodes are as they were, byte for byte, labels of ${moves.name} included, but for the taint of ${poweredOff.name}.`,
      )
    return { agents, problems, deletedAfter: destruction.after, taintedAfter: off.after }
  } catch (error) {
    if (!(error instanceof NotShown)) throw error
    return { agents, problems: [error.message] }
  }
}

/** Waits until vCenter pushes what becomes of the VMs: some seconds after they are found. */
async function watched({ site: { vcsim }, narrator, signal }: Scenery): Promise<void> {
  const what = 'vCenter is asked to push what becomes of the VMs'
  const start = performance.now()
  await until(what, async () => {
    signal.throwIfAborted()
    narrator.wait(what, performance.now() - start)
    return ((await vcsim.calls()).operations.ModifyListView ?? 0) > 0
  })
}
