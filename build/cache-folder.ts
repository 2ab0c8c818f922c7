import { homedir } from 'node:os'
import { join } from 'node:path'

/** The folder in the user's cache for what takes long to build or download; it is reused from run to run. */
export function cacheFolder(
  holding: 'servers' | 'compiled' | 'packages' | 'machines',
  env: NodeJS.ProcessEnv,
): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rollcall', holding)
}
