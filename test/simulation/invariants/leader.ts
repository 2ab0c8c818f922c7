import type { World } from '../world.ts'

/** Whether a leader runs, and hears and says everything at once, as far as the API server goes. */
export function isLeaderWell(world: World): boolean {
  const { api } = world
  const leader = world.leader()
  if (leader?.state !== 'runs' || api.away || api.slow > 0) return false
  const { cut, deaf, lag } = leader.line
  return !cut && !deaf && lag === 0
}
