import type { InitializationConfig } from './config.ts'
import type { Findings } from './findings.ts'
import type { Given } from './read-section.ts'
import type { Sections } from './sections.ts'

/** What the CPI's arguments say that the configuration depends on. */
export interface GivenArguments {
  /** Whether `--controllers` leaves the CPI's cloud-node-controller on, which initializes Nodes. */
  readonly initializes: boolean
  /** Whether it leaves cloud-node-lifecycle-controller on, which deletes Nodes and taints those whose VM is off. */
  readonly endsNodes: boolean
  /** `--node-labels`, without those that the CPI discards. */
  readonly nodeLabels: Readonly<Record<string, string>>
}

const CONTROLLERS = '--controllers'

/**
 * The given settings, overridden by what the CPI's arguments mean. A file without `identity.require` that is used with these
 * arguments comes from a CPI cluster, which keeps working as before.
 */
export function applyArguments(
  sections: Sections,
  given: GivenArguments | undefined,
  findings: Findings,
): Sections {
  if (given === undefined) return sections
  return {
    ...sections,
    identity: asAsserted(sections.identity, findings),
    lifecycle: withoutEnds(sections.lifecycle, given, findings),
  }
}

/** The settings that only the command line has. */
export function initializationOf(given: GivenArguments | undefined): InitializationConfig {
  return { on: given?.initializes ?? true, labels: given?.nodeLabels ?? {} }
}

function asAsserted(identity: Sections['identity'], findings: Findings): Sections['identity'] {
  if (identity.require !== undefined) return identity
  findings.warn('identity.require', 'command line', BELIEVED)
  return { ...identity, require: { path: 'identity.require', at: 'command line', value: 'asserted' } }
}

const BELIEVED =
  'is not set, and with the arguments of the CPI that means asserted: a kubelet is believed whatever machine it claims for its Node; run an agent on every node, then write "require: reported" under "identity"'

function withoutEnds(
  lifecycle: Sections['lifecycle'],
  { endsNodes }: GivenArguments,
  findings: Findings,
): Sections['lifecycle'] {
  if (endsNodes) return lifecycle
  const off = <T>(value: T, before: Given<T> | undefined): Given<T> => {
    if (before !== undefined && before.value !== value)
      findings.warn(
        CONTROLLERS,
        'command line',
        `turns cloud-node-lifecycle off, and overrides ${before.path} in the file: remove one of them`,
      )
    return { path: CONTROLLERS, at: 'command line', value }
  }
  return {
    ...lifecycle,
    deletion: off('off', lifecycle.deletion),
    shutdownTaint: off(false, lifecycle.shutdownTaint),
    ...(lifecycle.outOfServiceAfter === undefined
      ? {}
      : { outOfServiceAfter: off(undefined, lifecycle.outOfServiceAfter) }),
  }
}
