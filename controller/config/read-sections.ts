import { didYouMean } from '../../agent/shared/did-you-mean.ts'
import type { Findings } from './findings.ts'
import { type GivenSection, type GivenVCenter, readSettings, type Sections, withServer } from './given.ts'
import { LABEL_RULES, readLabelRules } from './label-rules.ts'
import { OTHER_SECTIONS } from './settings/ignored-keys.ts'
import {
  type AnyRow,
  type AnySection,
  namesOf,
  type Others,
  type SectionTable,
  spelling,
} from './settings/row.ts'
import { SECTION_ALIASES, SECTION_NAMES, SECTIONS } from './settings/sections.ts'
import { VCENTER } from './settings/vcenter.ts'
import { type Branch, type ConfigTree, type Entry, shape } from './tree.ts'

/**
 * Sorts a file's settings into sections by the table; what is unknown or wrong is in the findings.
 *
 * @returns undefined where it has no sections at all
 */
export function readSections(tree: ConfigTree, findings: Findings): Sections | undefined {
  if (tree.kind !== 'map') {
    findings.refuse(
      '',
      tree.at,
      `expected "global:", "vcenter:" and "labels:" at the top, got ${shape(tree)}`,
    )
    return undefined
  }
  const others = Object.keys(OTHER_SECTIONS)
  const top = knownEntries(tree, '', [...SECTION_NAMES, LABEL_RULES], others, findings, SECTION_ALIASES)
  const section = <S>(name: string, table: SectionTable<S>): GivenSection<S> => {
    const entry = top.get(name)
    return entry === undefined ? {} : readSection(entry.value, name, table, findings)
  }
  for (const [name, other] of Object.entries(OTHER_SECTIONS)) tellOther(name, top.get(name), other, findings)
  return {
    global: section('global', SECTIONS.global),
    vCenters: readVCenters(top.get('vcenter'), findings),
    labels: section('labels', SECTIONS.labels),
    identity: section('identity', SECTIONS.identity),
    lifecycle: section('lifecycle', SECTIONS.lifecycle),
    topology: section('topology', SECTIONS.topology),
    nodes: section('nodes', SECTIONS.nodes),
    labelRules: readLabelRules(top.get(LABEL_RULES)?.value, findings),
    certificates: section('certificates', SECTIONS.certificates),
  }
}

function readVCenters(entry: Entry | undefined, findings: Findings): readonly GivenVCenter[] {
  if (entry === undefined || isEmpty(entry.value)) return []
  const branch = asMap(entry.value, 'vcenter', 'a name for each vCenter and its settings below it', findings)
  const seen = new Set<string>()
  const vCenters: GivenVCenter[] = []
  for (const one of branch?.entries ?? []) {
    const { key: name, at, value } = one
    // Beside a mistake it may be a line of a password.
    const path = one.doubtful && value.kind === 'text' && findings.wrong ? 'vcenter.?' : `vcenter.${name}`
    if (
      value.kind !== 'map' &&
      namesOf(VCENTER.rows).some((setting) => spelling(setting) === spelling(name))
    ) {
      findings.refuse('vcenter', at, nameless(name, branch?.ini === true))
      continue
    }
    if (seen.has(name)) {
      findings.refuse(path, at, 'is given twice: keep one')
      continue
    }
    seen.add(name)
    if (name === '') findings.refuse('vcenter', at, 'a vCenter has an empty name: give it one')
    const given = readSection(value, path, VCENTER, findings)
    vCenters.push({
      name,
      path: `vcenter.${name}`,
      at,
      given: isINI(value) ? withServer(name, `${path}.server`, at, given, findings) : given,
    })
  }
  return vCenters
}

function isINI(tree: ConfigTree): tree is Branch {
  return tree.kind === 'map' && tree.ini === true
}

function nameless(key: string, ini: boolean): string {
  return ini
    ? `"${key}" belongs to no vCenter: write [VirtualCenter "NAME"] above it`
    : `"${key}" appears where a vCenter's name was expected: write a name first, and the settings indented below it`
}
/** Reads and checks each setting of a section by the table. An empty value counts as absent, as in the CPI. */
function readSection<S>(
  tree: ConfigTree,
  path: string,
  table: SectionTable<S>,
  findings: Findings,
): GivenSection<S> {
  const { rows, others } = table
  const branch = isEmpty(tree) ? undefined : asMap(tree, path, 'settings below it', findings)
  if (branch === undefined) return {}
  const entries = knownEntries(branch, path, namesOf(rows), Object.keys(others), findings)
  for (const [name, other] of Object.entries(others))
    tellOther(`${path}.${name}`, entries.get(name), other, findings)
  const written = (name: keyof S & string) => {
    const value = entries.get(name)?.value
    if (value === undefined) return undefined
    const place = { path: `${path}.${name}`, at: value.at }
    if (isEmpty(value)) {
      if (rows[name].neverEmpty)
        findings.refuse(place.path, place.at, 'is empty: write a value, or remove it')
      return undefined
    }
    const text = asText(value, place.path, rows[name], findings)
    return text === undefined ? undefined : { ...place, text }
  }
  return readSettings(table, written, findings)
}

/** Warns of a known setting that has no effect, unless it is empty. */
function tellOther(
  path: string,
  entry: Entry | undefined,
  { because }: Others[string],
  findings: Findings,
): void {
  if (entry === undefined || isEmpty(entry.value)) return
  findings.warn(path, entry.at, because)
}

/** The entries by their proper names; unknown ones are refused. Of equal ones the last counts in INI, else they are refused. */
function knownEntries(
  branch: Branch,
  path: string,
  names: readonly string[],
  others: readonly string[],
  findings: Findings,
  aliases: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, Entry> {
  const known = new Map([
    ...[...names, ...others].map((name) => [spelling(name), name] as const),
    ...[...aliases].map(([alias, name]) => [spelling(alias), name] as const),
  ])
  const found = new Map<string, Entry>()
  const prefix = path === '' ? '' : `${path}.`
  for (const entry of branch.entries) {
    const spelled = spelling(entry.key)
    const name = known.get(spelled)
    if (name === undefined) {
      const near = didYouMean(entry.key, [...names, ...aliases.keys()])
      if (near === undefined) {
        const { label, hint } = unknownKey(entry, names, path)
        findings.refuse(`${prefix}${label}`, entry.at, `unknown key: ${hint}`)
      } else {
        const meant = `${prefix}${known.get(spelling(near))}`
        findings.refuseMisspelled(
          `${prefix}${entry.key}`,
          entry.at,
          `unknown key: did you mean "${near}"?`,
          meant,
        )
      }
      continue
    }
    const first = found.get(name)
    const last = branch.ini && entry.value.kind === 'text'
    if (first === undefined || last) found.set(name, entry)
    if (first === undefined) continue
    if (last)
      findings.warn(
        `${prefix}${name}`,
        entry.at,
        `is given twice, so line ${first.at.line} has no effect: keep one`,
      )
    else
      findings.refuse(
        `${prefix}${name}`,
        entry.at,
        `is given twice, first on line ${first.at.line}: keep one`,
      )
  }
  return found
}

/** A message repeats a key only where it looks like one: misplaced text may be part of a password. */
function unknownKey(
  { key, doubtful }: Entry,
  known: readonly string[],
  path: string,
): { label: string; hint: string } {
  const label = !doubtful && /^[a-z][a-z0-9_-]{0,39}$/i.test(key) ? key : '?'
  // A setting of both one vCenter and all most likely belongs to the one.
  const { vcenter, ...others } = SECTIONS
  const homes = Object.entries<AnySection>({ 'vcenter.<name>': vcenter, ...others })
  const [home] =
    homes.find(
      ([name, { rows }]) => name !== path && Object.keys(rows).some((row) => spelling(row) === spelling(key)),
    ) ?? []
  if (home !== undefined) return { label, hint: `it belongs under "${home}"` }
  return { label, hint: `known here are ${known.join(', ')}` }
}

function asMap(tree: ConfigTree, path: string, expected: string, findings: Findings): Branch | undefined {
  if (tree.kind === 'map') return tree
  findings.refuse(path, tree.at, `expected ${expected}, got ${shape(tree)}`)
  return undefined
}

function asText(
  tree: ConfigTree,
  path: string,
  { form }: Pick<AnyRow, 'form'>,
  findings: Findings,
): string | undefined {
  if (tree.kind === 'text') {
    if (!tree.bare) return tree.text
    if (form === 'flag') return 'true'
    findings.refuse(path, tree.at, 'has no value: write "key = value"')
    return undefined
  }
  const list = form === 'list'
  if (list && tree.kind === 'list') {
    const wrong = tree.items.find((item) => item.kind !== 'text')
    if (wrong === undefined)
      return tree.items.map((item) => (item.kind === 'text' ? item.text : '')).join(',')
    findings.refuse(path, wrong.at, `expected text in this list, got ${shape(wrong)}`)
    return undefined
  }
  findings.refuse(path, tree.at, `expected ${list ? 'a list of text' : 'text'}, got ${shape(tree)}`)
  return undefined
}

function isEmpty(tree: ConfigTree): boolean {
  if (tree.kind === 'text') return tree.text === '' && !tree.bare
  return tree.kind === 'list' ? tree.items.length === 0 : tree.entries.length === 0
}
