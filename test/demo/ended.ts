import type { Program } from '../world/program.ts'

/** Says which has ended; neither the controller nor an agent has a reason to, before it is asked. */
export function whatEnded(
  controller: Program,
  agents: Iterable<readonly [string, Program]>,
): string | undefined {
  const all: [string, Program][] = [['controller', controller]]
  for (const [name, agent] of agents) all.push([`agent of ${name}`, agent])
  for (const [name, program] of all) {
    const exit = program.exit()
    if (exit) return `the ${name} ended with ${exit.signal ?? `code ${exit.code}`}`
  }
  return undefined
}
