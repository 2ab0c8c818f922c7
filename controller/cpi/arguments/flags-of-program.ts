/** Flags for the log, and those that every program has. */
import { bool, duration, level, opaque } from './kinds.ts'
import { accepted, type FlagRow, supported } from './row.ts'

const VERBOSITY: FlagRow<number> = {
  ...supported(
    level,
    '0',
    'From 4 on, the log includes debug messages; below that, the value makes no difference.',
  ),
  shorthand: 'v',
}
const HELP: FlagRow<boolean> = { ...supported(bool, 'false', 'Prints this table.'), shorthand: 'h' }

export const PROGRAM_FLAGS = {
  v: VERBOSITY,
  vmodule: accepted(opaque('moduleSpec'), '', 'the log has no levels for single files'),
  'log-flush-frequency': accepted(duration, '5s', 'each line is written at once'),
  version: supported({ ...opaque('version'), bare: 'true' }, 'false', "Prints Rollcall's version."),
  help: HELP,
}
