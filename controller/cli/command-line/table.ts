/** The commands and their options, a row for each. Parser, help and completion come from it. */
import { LOG_LEVELS } from '../../../agent/shared/log-level.ts'

export interface OptionRow {
  /** What the help calls its value; a switch takes none. */
  readonly value?: string
  /** All values that it takes, where those are few. */
  readonly words?: readonly string[]
  /** Where nothing is given. */
  readonly default?: string
  readonly help: string
}

export const OUTPUTS = ['table', 'json'] as const
export type Output = (typeof OUTPUTS)[number]

/** Whom completion is for. */
export const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const
export type Shell = (typeof SHELLS)[number]

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
    default: 'kube-system',
    help: 'without --config, namespace of the Secret that has the configuration',
  },
  'config-secret': { value: 'NAME', default: 'rollcall-config', help: 'name of that Secret' },
  identity: {
    value: 'NAME',
    help: "name of this replica in the Lease, to which each start adds a suffix (default: the host's name)",
  },
  'log-level': { value: 'LEVEL', words: LOG_LEVELS, help: 'what is logged, to standard error' },
  output: { value: 'FORM', words: OUTPUTS, default: 'table', help: 'for people, or for programs' },
  watch: { help: 'keep running, and show what changes' },
  'from-cpi': { help: 'look for the vSphere CPI as well, and say how to hand over from it' },
} as const satisfies Record<string, OptionRow>

export type OptionName = keyof typeof OPTIONS

export interface CommandRow {
  /** One sentence for the help, without a full stop. */
  readonly does: string
  /** What stands behind its name. */
  readonly operand?: { readonly name: string; readonly words?: readonly string[] }
  readonly required: readonly OptionName[]
  readonly optional: readonly OptionName[]
}

export const COMMANDS = {
  run: {
    does: "initializes the cluster's Nodes with what vCenter knows of their VMs, and keeps them current",
    required: ['config'],
    optional: ['kubeconfig', 'listen', 'lease-namespace', 'lease-name', 'identity', 'log-level'],
  },
  plan: {
    does: 'says what that would change, and changes nothing; exit code 0 if nothing would change, 2 if something would, 1 if no plan is possible',
    required: ['config'],
    optional: ['kubeconfig', 'context', 'from-cpi', 'output', 'lease-namespace', 'lease-name', 'log-level'],
  },
  explain: {
    does: 'explains one Node, from its report to vCenter to the decision, and what would change it; with --config it asks vCenter now; exit code 1 if something could not be found out',
    operand: { name: 'NODE' },
    required: [],
    optional: ['config', 'kubeconfig', 'context', 'output', 'lease-namespace', 'lease-name', 'log-level'],
  },
  status: {
    does: 'shows all Nodes by vCenter, cluster and host, as the cluster itself knows them; exit code 1 if something could not be read',
    required: [],
    optional: ['watch', 'kubeconfig', 'context', 'output', 'lease-namespace', 'lease-name'],
  },
  doctor: {
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
  },
  completion: {
    does: 'prints the completion script for a shell, or for kubectl the executable kubectl_complete-rollcall',
    operand: { name: 'SHELL', words: SHELLS },
    required: [],
    optional: [],
  },
} as const satisfies Record<string, CommandRow>

export type CommandName = keyof typeof COMMANDS

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name)
}

export function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name)
}

/** The options of a command, in the order of the help. */
export function optionsOf(name: CommandName): readonly OptionName[] {
  const { required, optional }: CommandRow = COMMANDS[name]
  return [...required, ...optional]
}
