import { didYouMean } from '../../agent/shared/did-you-mean.ts'
import type { Findings } from './findings.ts'
import { type Given, type GivenSection, readSetting } from './read-section.ts'
import { type Sections, withServer } from './sections.ts'
import { SECTIONS } from './settings/all-sections.ts'
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
import { namesOf, type SectionTable } from './settings/row.ts'

/** Variables by name; an empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The file's settings, overridden by the environment's. What is wrong or has no effect is in the findings. */
export function applyEnvironment(sections: Sections, environment: Environment, findings: Findings): Sections {
  const over = <S>(table: SectionTable<S>, given: GivenSection<S>, variables: Variables<S>, prefix = '') =>
    overridden(table, given, variables, prefix, environment, findings)
  const idle = (variable: IdleVariable, prefix = '') => tellIdle(variable, prefix, environment, findings)

  for (const variable of IDLE_VARIABLES) idle(variable)
  const named = namedVCenters(environment)
  const vCenters = new Map(sections.vCenters.map((vCenter) => [vCenter.name, vCenter]))
  for (const [id, name] of named) {
    const path = `${NAMING}${id}`
    const prefix = `VCENTER_${id}_`
    const before = vCenters.get(name)
    if (before?.at === 'environment')
      findings.refuse(path, 'environment', 'names the same vCenter as another variable: keep one')
    const given = over(SECTIONS.vcenter, before?.given ?? {}, VCENTER_VARIABLES, prefix)
    idle(IDLE_SUFFIX, prefix)
    vCenters.set(name, {
      name,
      at: 'environment',
      given: withServer(name, path, 'environment', given, findings),
    })
  }
  tellLost([...named.keys()], environment, findings)
  return {
    ...sections,
    global: over(SECTIONS.global, sections.global, GLOBAL_VARIABLES),
    vCenters: [...vCenters.values()],
    labels: over(SECTIONS.labels, sections.labels, LABEL_VARIABLES),
    nodes: over(SECTIONS.nodes, sections.nodes, NODE_VARIABLES),
    lifecycle: withoutDeletion(sections.lifecycle, environment, findings),
  }
}

/** The names of vCenters by the ID in the variable, in the order of the variables' names. */
function namedVCenters(environment: Environment): ReadonlyMap<string, string> {
  const named = Object.entries(environment).flatMap(([variable, name]) => {
    const id = variable.startsWith(NAMING) ? variable.slice(NAMING.length) : ''
    // The CPI takes the port for a name.
    return id === '' || id === 'PORT' || !name ? [] : [[id, name] as const]
  })
  return new Map(named.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function overridden<S>(
  { rows }: SectionTable<S>,
  given: GivenSection<S>,
  variables: Variables<S>,
  prefix: string,
  environment: Environment,
  findings: Findings,
): GivenSection<S> {
  const result: { [K in keyof S]?: Given<S[K]> } = { ...given }
  for (const name of namesOf(rows)) {
    const variable = variables[name]
    const path = `${prefix}${variable?.name}`
    const text = variable && environment[path]
    if (!text || text === rows[name].unset) continue
    const read = readSetting(rows[name], text, { path, at: 'environment' }, findings)
    const before = given[name]
    if (before !== undefined)
      findings.warn(
        path,
        'environment',
        `overrides ${before.path} in the file: write it there, and remove this`,
      )
    if (read !== undefined) result[name] = read
  }
  return result
}

function tellIdle(
  { name, because }: IdleVariable,
  prefix: string,
  environment: Environment,
  findings: Findings,
): void {
  const path = `${prefix}${name}`
  if (environment[path]) findings.warn(path, 'environment', `has no effect because ${because}: remove it`)
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

function withoutDeletion(
  lifecycle: Sections['lifecycle'],
  environment: Environment,
  findings: Findings,
): Sections['lifecycle'] {
  const path = SKIP_DELETION.name
  if (environment[path] === undefined) return lifecycle
  findings.warn(
    path,
    'environment',
    'is set, so no Nodes are deleted, whatever lifecycle.deletion says: write "deletion: off" under "lifecycle", and remove this',
  )
  return { ...lifecycle, deletion: { path, at: 'environment', value: 'off' } }
}
