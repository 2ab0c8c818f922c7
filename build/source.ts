import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './programs.ts'

/** What is built. */
export interface Source {
  /** As 0.1.0. */
  readonly version: string
  /** The commit, with `-dirty` behind it where files were changed since. */
  readonly revision: string
  /** When it was committed, RFC 3339 in UTC: what is built has this time in it, and is therefore the same each time. */
  readonly created: string
}

/**
 * The source in this repository.
 *
 * @throws Error where it is not a clone with git.
 */
export async function currentSource(): Promise<Source> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const [commit, time] = (await git('log', '-1', '--format=%H %ct')).trim().split(' ')
  const dirty = (await git('status', '--porcelain')) === '' ? '' : '-dirty'
  const created = new Date(Number(time) * 1000).toISOString().replace('.000Z', 'Z')
  return { version, revision: `${commit}${dirty}`, created }
}

async function git(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: root })
  return stdout
}
