import { existsSync } from 'node:fs'
import { hasFailed, linesJSON, printLines } from '../../../agent/shared/diagnosis.ts'
import { ok } from '../../../agent/shared/result.ts'
import { MOUNTED_CONFIG } from '../../inspect/doctor/config-of-cluster.ts'
import { doctor } from '../../inspect/doctor/doctor.ts'
import { operatorCredentials } from '../../kubernetes/credentials.ts'
import { checkNames, namespaceOf, OPTIONS, peopleFlags } from '../command-line/options.ts'
import { command, configSource, partsOf } from './command.ts'

/** Prints what is wrong. */
export const DOCTOR = command({
  does: 'checks everything that Rollcall needs, and says what is wrong and what to do; exit code 1 if a check fails',
  required: [],
  optional: [
    'config',
    'namespace',
    'config-secret',
    'kubeconfig',
    'context',
    'lease-namespace',
    'lease-name',
    'output',
  ],
  parse(values) {
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
  },
  async start(flags, surroundings, signal) {
    const { environment, stdout } = surroundings
    const path = flags.config ?? (existsSync(MOUNTED_CONFIG) ? MOUNTED_CONFIG : undefined)
    const lines = await doctor(
      {
        // Everything that is wrong is in the lines.
        ...partsOf(flags, surroundings, 'silent'),
        config: path === undefined ? undefined : configSource(path, environment),
        configSecret: flags.configSecret,
        credentials: operatorCredentials(flags, environment),
      },
      signal,
    )
    stdout.write(flags.output === 'json' ? linesJSON(lines) : printLines(lines))
    return hasFailed(lines) ? 1 : 0
  },
})
