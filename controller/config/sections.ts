import { didYouMean } from '../../agent/shared/did-you-mean.ts'
import type { Findings, SourcePosition } from './findings.ts'
import {
  FOREIGN_SECTIONS,
  GLOBAL,
  IDENTITY,
  type KnownSettings,
  LABELS,
  LIFECYCLE,
  NODES,
  spelling,
  TOPOLOGY,
  VCENTER,
} from './known-settings.ts'
import { type Branch, type ConfigTree, type Entry, shape } from './tree.ts'

/** A supported setting that has a value. */
export interface Setting {
  readonly path: string
  readonly at: SourcePosition
  /** Never empty: an empty value counts as absent, as in the CPI. */
  readonly text: string
}

/** By the name in {@link KnownSettings}. */
export type Section = ReadonlyMap<string, Setting>

export interface Sections {
  readonly global: Section
  readonly vCenters: readonly {
    readonly name: string
    readonly at: SourcePosition
    readonly section: Section
  }[]
  readonly labels: Section
  readonly identity: Section
  readonly lifecycle: Section
  readonly topology: Section
}

const SECTIONS = ['global', 'vcenter', 'labels', 'identity', 'lifecycle', 'topology', 'nodes'] as const
const TOP = [...SECTIONS, ...FOREIGN_SECTIONS.keys()]
/** The INI form's `[VirtualCenter "name"]`. */
const TOP_ALIASES: ReadonlyMap<string, string> = new Map([['virtualcenter', 'vcenter']])

/**
 * Sorts a file's settings into sections by the table of known settings; unknown and unsupported settings are refused.
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
  const top = knownEntries(tree, '', TOP, findings, TOP_ALIASES)
  const section = (name: string, settings: KnownSettings): Section => {
    const entry = top.get(name)
    return entry === undefined ? new Map() : readSection(entry.value, name, settings, findings)
  }
  for (const [name, support] of FOREIGN_SECTIONS) {
    const entry = top.get(name)
    if (entry === undefined || isEmpty(entry.value)) continue
    if (support.is === 'refused') findings.refuse(name, entry.at, support.because)
    if (support.is === 'ignored') findings.warn(name, entry.at, support.because)
  }
  // All of its settings are refused or empty for now.
  section('nodes', NODES)
  return {
    global: section('global', GLOBAL),
    vCenters: readVCenters(top.get('vcenter'), findings),
    labels: section('labels', LABELS),
    identity: section('identity', IDENTITY),
    lifecycle: section('lifecycle', LIFECYCLE),
    topology: section('topology', TOPOLOGY),
  }
}

function readVCenters(entry: Entry | undefined, findings: Findings): Sections['vCenters'] {
  if (entry === undefined || isEmpty(entry.value)) return []
  const branch = asMap(entry.value, 'vcenter', 'a name for each vCenter and its settings below it', findings)
  const seen = new Set<string>()
  const vCenters = []
  for (const { key: name, at, value } of branch?.entries ?? []) {
    const path = `vcenter.${name}`
    if (VCENTER.has(name) && value.kind !== 'map') {
      const message = `"${name}" is where a vCenter's name was expected: write a name first, and the settings indented below it`
      findings.refuse('vcenter', at, message)
      continue
    }
    if (seen.has(name)) {
      findings.refuse(path, at, 'is given twice: keep one')
      continue
    }
    seen.add(name)
    if (name === '') findings.refuse('vcenter', at, 'a vCenter has an empty name: give it one')
    vCenters.push({ name, at, section: readSection(value, path, VCENTER, findings) })
  }
  return vCenters
}

function readSection(tree: ConfigTree, path: string, settings: KnownSettings, findings: Findings): Section {
  const section = new Map<string, Setting>()
  const branch = isEmpty(tree) ? undefined : asMap(tree, path, 'settings below it', findings)
  if (branch === undefined) return section
  for (const [name, entry] of knownEntries(branch, path, settings.keys(), findings)) {
    const support = settings.get(name)
    if (support === undefined || isEmpty(entry.value)) continue
    const where = `${path}.${name}`
    if (support.is === 'refused') findings.refuse(where, entry.at, support.because)
    else if (support.is === 'ignored') findings.warn(where, entry.at, support.because)
    else {
      const text = asText(entry.value, where, support.is === 'supported list', findings)
      if (text !== undefined) section.set(name, { path: where, at: entry.value.at, text })
    }
  }
  return section
}

/** The entries by their proper names; unknown and duplicate ones are refused. */
function knownEntries(
  branch: Branch,
  path: string,
  names: Iterable<string>,
  findings: Findings,
  aliases: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, Entry> {
  const known = new Map([...names].map((name) => [spelling(name), name]))
  const found = new Map<string, Entry>()
  for (const entry of branch.entries) {
    const spelt = spelling(entry.key)
    const name = known.get(spelt) ?? aliases.get(spelt)
    const prefix = path === '' ? '' : `${path}.`
    if (name === undefined) {
      const { label, hint } = unknownKey(entry.key, branch.inline, [...known.values()], path)
      findings.refuse(`${prefix}${label}`, entry.at, `unknown key: ${hint}`)
      continue
    }
    const first = found.get(name)
    if (first === undefined) found.set(name, entry)
    else
      findings.refuse(
        `${prefix}${name}`,
        entry.at,
        `is given twice, first in line ${first.at.line}: keep one`,
      )
  }
  return found
}

/** A key is repeated only where it looks like one: misplaced text may be part of a password. */
function unknownKey(
  key: string,
  inline: boolean,
  known: readonly string[],
  path: string,
): { label: string; hint: string } {
  const near = didYouMean(key, known)
  const named = near !== undefined || (!inline && /^[a-z][a-z0-9_-]{0,39}$/i.test(key))
  const label = named ? key : '?'
  if (near !== undefined) return { label, hint: `did you mean "${near}"?` }
  const homes: [string, KnownSettings][] = [
    ['vcenter.<name>', VCENTER],
    ['global', GLOBAL],
    ['labels', LABELS],
    ['identity', IDENTITY],
    ['lifecycle', LIFECYCLE],
    ['topology', TOPOLOGY],
    ['nodes', NODES],
  ]
  const home = homes.find(
    ([name, settings]) =>
      name !== path && [...settings.keys()].some((setting) => spelling(setting) === spelling(key)),
  )
  if (home !== undefined) return { label, hint: `it belongs under "${home[0]}"` }
  return { label, hint: `known here are ${known.join(', ')}` }
}

function asMap(tree: ConfigTree, path: string, expected: string, findings: Findings): Branch | undefined {
  if (tree.kind === 'map') return tree
  findings.refuse(path, tree.at, `expected ${expected}, got ${shape(tree)}`)
  return undefined
}

function asText(tree: ConfigTree, path: string, list: boolean, findings: Findings): string | undefined {
  if (tree.kind === 'text') return tree.text
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
  if (tree.kind === 'text') return tree.text === ''
  return tree.kind === 'list' ? tree.items.length === 0 : tree.entries.length === 0
}
