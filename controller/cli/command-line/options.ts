/** The options, a row for each, and what their values mean. Parser, help and completion come from the rows. */
import { isIP } from 'node:net'
import { LOG_LEVELS, type LogLevel } from '../../../agent/shared/program.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { CredentialFlags } from '../../kubernetes/credentials.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'

export interface OptionRow {
  /** What the help calls its value; a switch takes none. */
  readonly value?: string
  /** A letter that is short for the name. */
  readonly short?: string
  /** All values that it takes, where those are few; a command may have more. */
  readonly words?: readonly string[]
  /** Where nothing is given. */
  readonly default?: string
  readonly help: string
}

const OUTPUTS = ['table', 'json'] as const

export const OPTIONS = {
  config: { value: 'FILE', help: 'the vSphere configuration, as the vSphere CPI has it' },
  kubeconfig: {
    value: 'FILE',
    help: 'credential for the API server (default: the service account of the Pod; all commands but run try $KUBECONFIG before it, and ~/.kube/config after it)',
  },
  context: { value: 'NAME', help: 'context of the kubeconfig (default: its current one)' },
  listen: {
    value: 'ADDRESS:PORT',
    default: ':10270',
    help: 'where /metrics, /healthz and /readyz are served; without an address, on all; "off" for nowhere',
  },
  'lease-namespace': {
    value: 'NS',
    default: 'kube-system',
    help: 'namespace of the Lease that replicas compete for',
  },
  'lease-name': { value: 'NAME', default: 'rollcall-controller', help: 'name of that Lease' },
  namespace: {
    value: 'NS',
    help: 'namespace of the accounts of Rollcall and of the Secret that has the configuration (default: that of the Pod, or kube-system)',
  },
  'config-secret': { value: 'NAME', default: 'rollcall-config', help: 'name of that Secret' },
  identity: {
    value: 'NAME',
    help: "name of this replica in the Lease, to which each start adds a suffix (default: the host's name)",
  },
  'log-level': { value: 'LEVEL', words: LOG_LEVELS, help: 'what is logged, to standard error' },
  output: {
    value: 'FORM',
    short: 'o',
    words: OUTPUTS,
    default: 'table',
    help: 'for people, or for programs',
  },
  watch: { short: 'w', help: 'keep running, and show what changes' },
  vcenter: {
    value: 'NAME',
    help: 'a vCenter, by its name in the configuration: status shows only its Nodes',
  },
  zone: { value: 'NAME', help: 'only Nodes of this zone' },
  'not-ready': { help: 'only Nodes that are not Ready, or wait for a cloud provider' },
  file: { value: 'FILE', help: 'what to write; "-" for standard output' },
  yes: { help: 'write without asking' },
  'from-cpi': { help: 'look for the vSphere CPI as well, and say how to hand over from it' },
} as const satisfies Record<string, OptionRow>

export type OptionName = keyof typeof OPTIONS

export function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name)
}

/** The row of an option; undefined where there is none of that name. */
export function optionRow(name: string): OptionRow | undefined {
  return isOption(name) ? OPTIONS[name] : undefined
}

/** Whether it is an option, and no switch. */
export function takesValue(name: string): boolean {
  return optionRow(name)?.value !== undefined
}

/** By the name of the option; a switch that is given has its own name as its value. `operand` is what has no name. */
export type GivenOptions = ReadonlyMap<OptionName | 'operand', string>

export interface LeaseFlags {
  readonly leaseNamespace: string
  readonly leaseName: string
}

/** What each command for people takes. */
export interface PeopleFlags extends CredentialFlags, LeaseFlags {
  readonly output: (typeof OUTPUTS)[number]
}

/** Reads {@link PeopleFlags}. An error is one sentence that names the argument. */
export function peopleFlags(values: GivenOptions): Result<PeopleFlags> {
  const lease = leaseOf(values)
  if (!lease.ok) return lease
  return ok({
    ...lease.value,
    kubeconfig: values.get('kubeconfig'),
    context: values.get('context'),
    output: OUTPUTS.find((known) => known === values.get('output')) ?? OPTIONS.output.default,
  })
}

/** The name of a Node, also where "kubectl -o name" wrote it. */
export function nodeName(word: string): string {
  return word.replace(/^nodes?\//, '')
}

export function leaseOf(values: GivenOptions): Result<LeaseFlags> {
  return checkLease(
    values.get('lease-namespace') ?? OPTIONS['lease-namespace'].default,
    values.get('lease-name') ?? OPTIONS['lease-name'].default,
    { namespace: '--lease-namespace', name: '--lease-name' },
  )
}

/** @param flags how each of the two is spelled on this command line */
export function checkLease(namespace: string, name: string, flags: LeaseName): Result<LeaseFlags> {
  const checked = checkNames({ namespace, name }, flags)
  return checked.ok ? ok({ leaseNamespace: namespace, leaseName: name }) : checked
}

/** Whether an object of the API server can have these names: nothing else comes into a path. */
export function checkNames({ namespace, name }: LeaseName, flags: LeaseName): Result<LeaseName> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace))
    return failed(`${flags.namespace}: expected the name of a namespace, lower case, at most 63 characters`)
  if (name.length > 253 || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name))
    return failed(`${flags.name}: expected an object name, lower case, at most 253 characters`)
  return ok({ namespace, name })
}

export function namespaceOf(values: GivenOptions): Result<string | undefined> {
  const namespace = values.get('namespace')
  if (namespace === undefined) return ok(namespace)
  const checked = checkNames({ namespace, name: 'any' }, { namespace: '--namespace', name: '' })
  return checked.ok ? ok(namespace) : checked
}

export function configOf(values: GivenOptions): Result<string> {
  const config = values.get('config')
  if (config !== undefined) return ok(config)
  return failed('--config is missing: expected the path of the vSphere configuration')
}

export function logLevelOf(values: GivenOptions, standard: LogLevel): LogLevel {
  return LOG_LEVELS.find((known) => known === values.get('log-level')) ?? standard
}

const WRONG_LISTEN = '--listen: expected ADDRESS:PORT, as in 0.0.0.0:10270, [::]:10270 or :10270, or off'

/** @returns undefined for `off`; an empty host means every address of the machine, and port 0 lets the system choose */
export function parseListen(
  text: string = OPTIONS.listen.default,
): Result<{ readonly host: string; readonly port: number } | undefined> {
  if (text === 'off') return ok(undefined)
  const match = /^(\[(?<v6>[^\]]+)\]|(?<other>[^:[\]]*)):(?<port>\d{1,5})$/.exec(text)
  const { v6, other, port } = match?.groups ?? {}
  if (port === undefined || Number(port) > 65535) return failed(WRONG_LISTEN)
  const host = v6 ?? other ?? ''
  const known = v6 === undefined ? host === '' || host === 'localhost' || isIP(host) === 4 : isIP(v6) === 6
  return known ? ok({ host, port: Number(port) }) : failed(WRONG_LISTEN)
}
