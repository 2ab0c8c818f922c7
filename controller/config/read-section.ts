import { didYouMean } from '../../agent/shared/did-you-mean.ts'
import type { Findings, Place } from './findings.ts'
import { SECTIONS } from './settings/all-sections.ts'
import {
  type AnySection,
  namesOf,
  type Other,
  type Row,
  type SectionTable,
  spelling,
} from './settings/row.ts'
import { type Branch, type ConfigTree, type Entry, shape } from './tree.ts'

/** A setting that has a value, and where it was given. */
export interface Given<T> {
  readonly path: string
  readonly at: Place
  readonly value: T
}

/** What is given of a section. An empty value counts as absent, as in the CPI. */
export type GivenSection<S> = { readonly [K in keyof S]?: Given<S[K]> }

/** Reads and checks each setting of a section by the table. Wrong ones are left out, and are in the findings. */
export function readSection<S>(
  tree: ConfigTree,
  path: string,
  { rows, others }: SectionTable<S>,
  findings: Findings,
): GivenSection<S> {
  const given: { [K in keyof S]?: Given<S[K]> } = {}
  const branch = isEmpty(tree) ? undefined : asMap(tree, path, 'settings below it', findings)
  if (branch === undefined) return given
  const entries = knownEntries(branch, path, namesOf(rows), Object.keys(others), findings)
  for (const [name, other] of Object.entries(others))
    tellOther(`${path}.${name}`, entries.get(name), other, findings)
  for (const name of namesOf(rows)) {
    const entry = entries.get(name)
    if (entry === undefined) continue
    const where = `${path}.${name}`
    if (isEmpty(entry.value)) {
      if (rows[name].neverEmpty)
        findings.refuse(where, entry.value.at, 'is empty: write a value, or remove it')
      continue
    }
    const text = asText(entry.value, where, rows[name], findings)
    if (text === undefined || text === rows[name].unset) continue
    given[name] = readSetting(rows[name], text, { path: where, at: entry.value.at }, findings)
  }
  return given
}

/** Reads one setting's text by its row; undefined where it is wrong. */
export function readSetting<T, S>(
  row: Row<T, S>,
  text: string,
  { path, at }: { readonly path: string; readonly at: Place },
  findings: Findings,
): Given<T> | undefined {
  const parsed = row.parse(text)
  if (!parsed.ok) {
    findings.refuse(path, at, parsed.message)
    return undefined
  }
  return { path, at, value: parsed.value }
}

/** The values of a section whose settings nothing else inherits, with defaults; warns where its rows say so. */
export function valuesOf<S>({ rows }: SectionTable<S>, given: GivenSection<S>, findings: Findings): S {
  const names = namesOf(rows)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each row's default is of its setting's type
  const values = Object.fromEntries(
    names.map((name) => [name, (given[name] ?? { value: rows[name].standard }).value]),
  ) as S
  for (const name of names) {
    const { path, at } = given[name] ?? {}
    const warning = path === undefined ? undefined : rows[name].warn?.(values[name], values)
    if (path !== undefined && warning !== undefined) findings.warn(path, at, warning)
  }
  return values
}

/** Warns of a known setting that has no effect, unless it is empty. */
export function tellOther(
  path: string,
  entry: Entry | undefined,
  { because }: Other,
  findings: Findings,
): void {
  if (entry === undefined || isEmpty(entry.value)) return
  findings.warn(path, entry.at, because)
}

/** The entries by their proper names; unknown ones are refused. Of equal ones the last counts in INI, else they are refused. */
export function knownEntries(
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

export function asMap(
  tree: ConfigTree,
  path: string,
  expected: string,
  findings: Findings,
): Branch | undefined {
  if (tree.kind === 'map') return tree
  findings.refuse(path, tree.at, `expected ${expected}, got ${shape(tree)}`)
  return undefined
}

function asText<T, S>(
  tree: ConfigTree,
  path: string,
  { form }: Row<T, S>,
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

export function isEmpty(tree: ConfigTree): boolean {
  if (tree.kind === 'text') return tree.text === '' && !tree.bare
  return tree.kind === 'list' ? tree.items.length === 0 : tree.entries.length === 0
}
