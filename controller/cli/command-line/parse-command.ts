import { LOG_LEVELS, type LogLevel } from '../../../agent/shared/log-level.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { CredentialFlags } from '../../kubernetes/credentials.ts'
import type {
  Command,
  DoctorFlags,
  ExplainFlags,
  LeaseFlags,
  PlanFlags,
  RunFlags,
  StatusFlags,
} from '../options.ts'
import { checkLease, checkNames, parseListen } from './parse-values.ts'
import { type GivenOptions, readOptions } from './read-options.ts'
import { type CommandName, OPTIONS, OUTPUTS, type Output, SHELLS } from './table.ts'

/** Parses what follows the name of a command. An error is one sentence that names the argument. */
export function parseCommand(name: CommandName, args: readonly string[]): Result<Command> {
  const read = readOptions(name, args)
  return read.ok ? commandOf(name, read.value) : read
}

function commandOf(kind: CommandName, values: GivenOptions): Result<Command> {
  switch (kind) {
    case 'run':
      return map(runFlags(values), (options) => ({ kind, options }))
    case 'plan':
      return map(planFlags(values), (options) => ({ kind, options }))
    case 'explain':
      return map(explainFlags(values), (options) => ({ kind, options }))
    case 'status':
      return map(statusFlags(values), (options) => ({ kind, options }))
    case 'doctor':
      return map(doctorFlags(values), (options) => ({ kind, options }))
    case 'completion':
      return ok({ kind, shell: SHELLS.find((known) => known === values.get('operand')) ?? 'bash' })
  }
}

function map<From, To>(result: Result<From>, to: (value: From) => To): Result<To> {
  return result.ok ? ok(to(result.value)) : result
}

function runFlags(values: GivenOptions): Result<RunFlags> {
  const config = configOf(values)
  if (!config.ok) return config
  const listen = parseListen(values.get('listen') ?? OPTIONS.listen.default)
  if (!listen.ok) return listen
  return map(leaseOf(values), (lease) => ({
    config: config.value,
    kubeconfig: values.get('kubeconfig'),
    listen: listen.value,
    ...lease,
    identity: values.get('identity'),
    logLevel: logLevelOf(values, 'info'),
  }))
}

function planFlags(values: GivenOptions): Result<PlanFlags> {
  const config = configOf(values)
  if (!config.ok) return config
  return map(leaseOf(values), (lease) => ({
    config: config.value,
    ...credentialOf(values),
    ...lease,
    output: outputOf(values),
    // What is wrong stands in the plan itself.
    logLevel: logLevelOf(values, 'error'),
    fromCPI: values.has('from-cpi'),
  }))
}

function explainFlags(values: GivenOptions): Result<ExplainFlags> {
  return map(leaseOf(values), (lease) => ({
    // As "kubectl -o name" writes it.
    node: (values.get('operand') ?? '').replace(/^nodes?\//, ''),
    config: values.get('config'),
    ...credentialOf(values),
    ...lease,
    output: outputOf(values),
    // What is wrong stands in the explanation itself.
    logLevel: logLevelOf(values, 'error'),
  }))
}

function statusFlags(values: GivenOptions): Result<StatusFlags> {
  return map(leaseOf(values), (lease) => ({
    ...credentialOf(values),
    ...lease,
    output: outputOf(values),
    watch: values.has('watch'),
  }))
}

function doctorFlags(values: GivenOptions): Result<DoctorFlags> {
  const secret = checkNames(
    values.get('namespace') ?? OPTIONS.namespace.default,
    values.get('config-secret') ?? OPTIONS['config-secret'].default,
    { namespace: '--namespace', name: '--config-secret' },
  )
  if (!secret.ok) return secret
  return map(leaseOf(values), (lease) => ({
    config: values.get('config'),
    configSecret: secret.value,
    ...credentialOf(values),
    ...lease,
    output: outputOf(values),
  }))
}

function configOf(values: GivenOptions): Result<string> {
  const config = values.get('config')
  if (config !== undefined) return ok(config)
  return failed('--config is missing: expected the path of the vSphere configuration')
}

function credentialOf(values: GivenOptions): CredentialFlags {
  return { kubeconfig: values.get('kubeconfig'), context: values.get('context') }
}

function leaseOf(values: GivenOptions): Result<LeaseFlags> {
  return checkLease(
    values.get('lease-namespace') ?? OPTIONS['lease-namespace'].default,
    values.get('lease-name') ?? OPTIONS['lease-name'].default,
    { namespace: '--lease-namespace', name: '--lease-name' },
  )
}

function outputOf(values: GivenOptions): Output {
  return OUTPUTS.find((known) => known === values.get('output')) ?? OPTIONS.output.default
}

function logLevelOf(values: GivenOptions, standard: LogLevel): LogLevel {
  return LOG_LEVELS.find((known) => known === values.get('log-level')) ?? standard
}
