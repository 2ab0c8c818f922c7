import type { IdentityLevel } from '../../agent/contract.ts'
import { reaches } from '../node/level.ts'
import type { Findings } from './findings.ts'
import type { Sections } from './sections.ts'
import { IDENTITY } from './settings/identity.ts'
import { standardOf } from './settings/row.ts'

/**
 * Refuses a file without `identity.require` where that would lower the level in force: trust is lowered by a word, not by
 * one that is missing.
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
  const message = `is not set any more, which ${why}means ${level}, and takes trust away from ${inForce}: write it again, or "require: ${level}" under "identity" if that is meant; a process that starts with this file takes it as ${level}`
  findings.refuse('identity.require', undefined, message)
}
