import { existsSync } from 'node:fs'
import { hasFailed, linesJSON, printLines } from '../../../agent/shared/diagnosis.ts'
import { ok, type Result } from '../../../agent/shared/result.ts'
import { doctor } from '../../inspect/doctor/doctor.ts'
import { MOUNTED_CONFIG } from '../../inspect/doctor/prepare.ts'
import { operatorCredentials } from '../../kubernetes/credentials.ts'
import {
  checkNames,
  type GivenOptions,
  namespaceOf,
  OPTIONS,
  type PeopleFlags,
  peopleFlags,
} from '../command-line/options.ts'
import { command, configSource, partsOf, type Surroundings } from './command.ts'

/** The options of the commands that look at a whole installation. */
export const INSPECTION_OPTIONS = [
  'config',
  'namespace',
  'config-secret',
  'kubeconfig',
  'context',
  'lease-namespace',
  'lease-name',
] as const

interface InspectionFlags extends PeopleFlags {
  /** The path of the vSphere configuration, if one was given. */
  readonly config: string | undefined
  readonly configSecret: { readonly namespace: string | undefined; readonly name: string }
}

/** Reads {@link INSPECTION_OPTIONS}. An error is one sentence that names the argument. */
export function inspectionFlags(values: GivenOptions): Result<InspectionFlags> {
  const namespace = namespaceOf(values)
  if (!namespace.ok) return namespace
  const name = values.get('config-secret') ?? OPTIONS['config-secret'].default
  const secret = checkNames({ namespace: 'any', name }, { namespace: '', name: '--config-secret' })
  if (!secret.ok) return secret
  const flags = peopleFlags(values)
  if (!flags.ok) return flags
  return ok({
    ...flags.value,
    config: values.get('config'),
    configSecret: { namespace: namespace.value, name },
  })
}

/** What an inspection is made with. In the Pod, the configuration is that which is mounted. */
export function inspectionParts(flags: InspectionFlags, surroundings: Surroundings) {
  const { environment } = surroundings
  const path = flags.config ?? (existsSync(MOUNTED_CONFIG) ? MOUNTED_CONFIG : undefined)
  return {
    // Everything that is wrong is in what is printed.
    ...partsOf(flags, surroundings, 'silent'),
    config: path === undefined ? undefined : configSource(path, environment),
    configSecret: flags.configSecret,
    credentials: operatorCredentials(flags, environment),
  }
}

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
