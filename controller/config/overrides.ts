import { didYouMean } from '../../agent/shared/did-you-mean.ts'
import type { Config } from './config.ts'
import type { Findings } from './findings.ts'
import {
  type Given,
  type GivenSection,
  overridden,
  readSettings,
  type Sections,
  withServer,
} from './given.ts'
import {
  GLOBAL_VARIABLES,
  IDLE_SUFFIX,
  IDLE_VARIABLES,
  type IdleVariable,
  KNOWN_VARIABLES,
  LABEL_VARIABLES,
  NAMING,
  NODE_VARIABLES,
  SKIP_DELETION,
  SUFFIXES,
  type Variables,
  VCENTER_VARIABLES,
} from './settings/environment.ts'
import type { SectionTable } from './settings/row.ts'
import { SECTIONS } from './settings/sections.ts'

/** Variables by name; an empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The file's settings, overridden by the environment's. What is wrong or has no effect is in the findings. */
export function applyEnvironment(sections: Sections, environment: Environment, findings: Findings): Sections {
  const warn = (path: string, message: string) => findings.warn(path, 'environment', message)
  const over = <S>(
    table: SectionTable<S>,
    given: GivenSection<S>,
    variables: Variables<S>,
    prefix = '',
  ): GivenSection<S> => {
    const textOf = (name: keyof S & string) => {
      const path = `${prefix}${variables[name]?.name}`
      const text = variables[name] && environment[path]
      return text ? { path, at: 'environment' as const, text } : undefined
    }
    return overridden(given, readSettings(table, textOf, findings), ({ path }, before) =>
      warn(path, `overrides ${before.path} in the file: write it there, and remove this`),
    )
  }
  const tellIdle = ({ name, because }: IdleVariable, prefix = '') => {
    const path = `${prefix}${name}`
    if (environment[path]) warn(path, `has no effect because ${because}: remove it`)
  }

  for (const variable of IDLE_VARIABLES) tellIdle(variable)
  const named = namedVCenters(environment)
  const vCenters = new Map(sections.vCenters.map((vCenter) => [vCenter.name, vCenter]))
  for (const [id, name] of named) {
    const path = `${NAMING}${id}`
    const prefix = `VCENTER_${id}_`
    const before = vCenters.get(name)
    if (before?.at === 'environment')
      findings.refuse(path, 'environment', 'names the same vCenter as another variable: keep one')
    const given = over(SECTIONS.vcenter, before?.given ?? {}, VCENTER_VARIABLES, prefix)
    tellIdle(IDLE_SUFFIX, prefix)
    vCenters.set(name, {
      name,
      path: `vcenter.${name}`,
      at: 'environment',
      given: withServer(name, path, 'environment', given, findings),
    })
  }
  tellLost([...named.keys()], environment, findings)
  const global = over(SECTIONS.global, sections.global, GLOBAL_VARIABLES)
  const labels = over(SECTIONS.labels, sections.labels, LABEL_VARIABLES)
  const nodes = over(SECTIONS.nodes, sections.nodes, NODE_VARIABLES)
  const read = { ...sections, vCenters: [...vCenters.values()], global, labels, nodes }
  const path = SKIP_DELETION.name
  if (environment[path] === undefined) return read
  warn(path, SKIPS)
  return { ...read, lifecycle: { ...read.lifecycle, deletion: { path, at: 'environment', value: 'off' } } }
}

const SKIPS =
  'is set, so no Nodes are deleted, whatever lifecycle.deletion says: write "deletion: off" under "lifecycle", and remove this'

/** The names of vCenters by the ID in the variable, in the order of the variables' names. */
function namedVCenters(environment: Environment): ReadonlyMap<string, string> {
  const named = Object.entries(environment).flatMap(([variable, name]) => {
    const id = variable.startsWith(NAMING) ? variable.slice(NAMING.length) : ''
    // The CPI takes the port for a name.
    return id === '' || id === 'PORT' || !name ? [] : [[id, name] as const]
  })
  return new Map(named.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Settings of a vCenter that no variable names, and misspelled names. Other variables may belong to anything. */
function tellLost(ids: readonly string[], environment: Environment, findings: Findings): void {
  for (const [variable, value] of Object.entries(environment)) {
    const suffix = SUFFIXES.find((one) => variable.startsWith('VCENTER_') && variable.endsWith(`_${one}`))
    const id = suffix && variable.slice('VCENTER_'.length, -suffix.length - 1)
    if (id && value && !ids.includes(id))
      findings.warn(
        variable,
        'environment',
        `has no effect while ${NAMING}${id} names no vCenter: set that, or remove this`,
      )
    if (
      !/^(VSPHERE|NSXT|SKIP)_/.test(variable) ||
      KNOWN_VARIABLES.has(variable) ||
      variable.startsWith(NAMING)
    )
      continue
    const near = didYouMean(variable, KNOWN_VARIABLES)
    if (near !== undefined)
      findings.warn(variable, 'environment', `is not known and has no effect: did you mean ${near}?`)
  }
}

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
    lifecycle: given.endsNodes ? sections.lifecycle : withoutEnds(sections.lifecycle, findings),
  }
}

/** The settings that only the command line has. */
export function initializationOf(given: GivenArguments | undefined): Config['initialization'] {
  return { on: given?.initializes ?? true, labels: given?.nodeLabels ?? {} }
}

function asAsserted(identity: Sections['identity'], findings: Findings): Sections['identity'] {
  if (identity.require !== undefined) return identity
  findings.warn('identity.require', 'command line', BELIEVED)
  return { ...identity, require: { path: 'identity.require', at: 'command line', value: 'asserted' } }
}

const BELIEVED =
  'is not set, and with the arguments of the CPI that means asserted: a kubelet is believed whatever machine it claims for its Node; run an agent on every node, then write "require: reported" under "identity"'

/** cloud-node-lifecycle is off: what ends Nodes or taints them is off with it. */
function withoutEnds(lifecycle: Sections['lifecycle'], findings: Findings): Sections['lifecycle'] {
  const off = <T>(value: T): Given<T> => ({ path: CONTROLLERS, at: 'command line', value })
  const { outOfServiceAfter } = lifecycle
  const above = {
    deletion: off('off' as const),
    shutdownTaint: off(false),
    ...(outOfServiceAfter && { outOfServiceAfter: off(undefined) }),
  }
  return overridden(lifecycle, above, ({ path, at, value }, before) => {
    if (value === before.value) return
    const message = `turns cloud-node-lifecycle off, and overrides ${before.path} in the file: remove one of them`
    findings.warn(path, at, message)
  })
}
