import type { Program } from '../world/program.ts'
import type { DemoSite } from './site.ts'

/** A Pod of the Deployment has this long, milliseconds, before it is killed. */
const CONTROLLER_WITHIN = 15_000

/**
 * Ends the agents, then the controller, as a kubelet would.
 *
 * @returns one sentence for each that did not end as it should; the controller owes vCenter its sessions back. What had
 *   ended before is not mentioned again
 */
export async function stopPrograms(
  { controller, vcsim }: Pick<DemoSite, 'controller' | 'vcsim'>,
  agents: ReadonlyMap<string, Program>,
): Promise<string[]> {
  const problems: string[] = []
  const ends = [...agents].map(async ([name, agent]) => {
    if (agent.exit()) return
    const { code, signal } = await agent.stop()
    if (code !== 0) problems.push(`the agent of ${name} ended with ${signal ?? `code ${code}`} on SIGTERM`)
  })
  await Promise.all(ends)
  if (controller.exit()) return problems
  const start = performance.now()
  const { code, signal } = await controller.stop()
  const took = performance.now() - start
  if (code !== 0) problems.push(`the controller ended with ${signal ?? `code ${code}`} on SIGTERM`)
  if (took > CONTROLLER_WITHIN) {
    problems.push(`the controller took ${Math.round(took)} ms to end, ${CONTROLLER_WITHIN} are allowed`)
  }
  const { soap, rest } = await vcsim.sessions()
  if (soap + rest > 0) problems.push(`the controller left ${soap} SOAP and ${rest} REST sessions in vCenter`)
  return problems
}
