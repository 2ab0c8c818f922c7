import { homedir } from 'node:os'
import { join } from 'node:path'

/** The folder of the user's cache where what takes long to make or to fetch is kept from run to run, by what it holds. */
export function cacheFolder(
  holding: 'servers' | 'compiled' | 'packages' | 'machines',
  env: NodeJS.ProcessEnv,
): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rollcall', holding)
}
