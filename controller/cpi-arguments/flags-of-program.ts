/** Flags about the log, and those that every program has. */
import { bool, duration, level, opaque } from './kinds.ts'
import { accepted, type FlagRow, served } from './row.ts'

const VERBOSITY: FlagRow<number> = {
  ...served(level, '0', 'From 4 on the log has what is for debugging as well; below that it is the same.'),
  shorthand: 'v',
}
const HELP: FlagRow<boolean> = { ...served(bool, 'false', 'Prints this table.'), shorthand: 'h' }

export const PROGRAM_FLAGS = {
  v: VERBOSITY,
  vmodule: accepted(opaque('moduleSpec'), '', 'the log has no levels by file'),
  'log-flush-frequency': accepted(duration, '5s', 'each line is written at once'),
  version: served({ ...opaque('version'), bare: 'true' }, 'false', "Prints Rollcall's version."),
  help: HELP,
}
