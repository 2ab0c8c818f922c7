import type { IdentityLevel } from '../../agent/shared/node-report.ts'
import type { Findings } from './findings.ts'
import { reaches } from './identity-level.ts'
import type { Sections } from './sections.ts'
import { IDENTITY } from './settings/identity.ts'
import { standardOf } from './settings/row.ts'

/**
 * Refuses a file without `identity.require` where that would lower the level in force: only an explicit value may lower it.
 *
 * @param said the file's section
 * @param meant the same with what the command line makes of it
 * @param inForce what a running process requires; undefined at its start, when nothing can be lowered
 */
export function keepLevel(
  said: Sections['identity'],
  meant: Sections['identity'],
  inForce: IdentityLevel | undefined,
  findings: Findings,
): void {
  if (inForce === undefined || said.require !== undefined || findings.refused('identity.require')) return
  const level = meant.require?.value ?? standardOf(IDENTITY.rows, 'require')
  if (reaches(level, inForce)) return
  const why = meant.require === undefined ? '' : 'with the arguments of the CPI '
  const message = `is no longer set, which ${why}means ${level}, less than ${inForce}: write it again, or write "require: ${level}" under "identity" if you want that; a process that starts with this file uses ${level}`
  findings.refuse('identity.require', undefined, message)
}
