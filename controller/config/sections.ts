import type { Config, NodesConfig } from './config.ts'
import type { Findings, Place } from './findings.ts'
import {
  asMap,
  type GivenSection,
  isEmpty,
  knownEntries,
  readSection,
  readSetting,
  tellOther,
} from './read-section.ts'
import { OTHER_SECTIONS, SECTION_ALIASES, SECTION_NAMES, SECTIONS } from './settings/all-sections.ts'
import type { GlobalSettings } from './settings/global.ts'
import { namesOf, type SectionTable, spelling } from './settings/row.ts'
import { VCENTER, type VCenterSettings } from './settings/vcenter.ts'
import { type Branch, type ConfigTree, type Entry, shape } from './tree.ts'

/** A vCenter as the file or the environment names it. */
export interface GivenVCenter {
  readonly name: string
  readonly at: Place
  readonly given: GivenSection<VCenterSettings>
}

/** All that is given, setting by setting, checked one by one. */
export interface Sections {
  readonly global: GivenSection<GlobalSettings>
  readonly vCenters: readonly GivenVCenter[]
  readonly labels: GivenSection<Config['labels']>
  readonly identity: GivenSection<Config['identity']>
  readonly lifecycle: GivenSection<Config['lifecycle']>
  readonly topology: GivenSection<Config['topology']>
  readonly nodes: GivenSection<NodesConfig>
}

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
  const top = knownEntries(tree, '', SECTION_NAMES, others, findings, SECTION_ALIASES)
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
      at,
      given: isINI(value) ? withServer(name, `${path}.server`, at, given, findings) : given,
    })
  }
  return vCenters
}

/** In INI and in the environment, a vCenter's name, given at `path`, is its server unless that is written. */
export function withServer(
  name: string,
  path: string,
  at: Place,
  given: GivenSection<VCenterSettings>,
  findings: Findings,
): GivenSection<VCenterSettings> {
  if (given.server !== undefined || findings.refused(path)) return given
  const server = readSetting(VCENTER.rows.server, name, { path, at }, findings)
  return server === undefined ? given : { ...given, server }
}

function isINI(tree: ConfigTree): tree is Branch {
  return tree.kind === 'map' && tree.ini === true
}

function nameless(key: string, ini: boolean): string {
  return ini
    ? `"${key}" belongs to no vCenter: write [VirtualCenter "NAME"] above it`
    : `"${key}" appears where a vCenter's name was expected: write a name first, and the settings indented below it`
}
