import { hasFailed, linesJSON, printLines } from '../../../agent/shared/diagnosis.ts'
import { doctor } from '../../inspect/doctor/doctor.ts'
import { command } from './command.ts'
import { INSPECTION_OPTIONS, inspectionFlags, inspectionParts } from './inspection.ts'

/** Prints what is wrong. */
export const DOCTOR = command({
  does: 'checks everything that Rollcall needs, and says what is wrong and what to do; exit code 1 if a check fails',
  required: [],
  optional: [...INSPECTION_OPTIONS, 'output'],
  parse: inspectionFlags,
  async start(flags, surroundings, signal) {
    const lines = await doctor(inspectionParts(flags, surroundings), signal)
    surroundings.stdout.write(flags.output === 'json' ? linesJSON(lines) : printLines(lines))
    return hasFailed(lines) ? 1 : 0
  },
})
