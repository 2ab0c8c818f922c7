/** What is given of the settings, each with its place. Whatever it was given by becomes a setting in the same way. */
import type { Config, LabelRule } from './config.ts'
import type { Findings, Place } from './findings.ts'
import { namesOf, type Row, type SectionTable } from './settings/row.ts'
import { type GlobalSettings, VCENTER, type VCenterSettings } from './settings/vcenter.ts'

/** A setting that has a value, and where it was given. */
export interface Given<T> {
  readonly path: string
  readonly at: Place
  readonly value: T
}

/** What is given of a section. An empty value counts as absent, as in the CPI. */
export type GivenSection<S> = { readonly [K in keyof S]?: Given<S[K]> }

/** A vCenter as the file or the environment names it. */
export interface GivenVCenter {
  readonly name: string
  /** The path of its settings, for messages. */
  readonly path: string
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
  readonly nodes: GivenSection<Config['nodes']>
  readonly labelRules: readonly Given<LabelRule>[]
  readonly certificates: GivenSection<Config['certificates']>
}

/** Reads each setting of a section that has a text. Wrong ones are left out, and are in the findings. */
export function readSettings<S>(
  { rows }: SectionTable<S>,
  textOf: (
    name: keyof S & string,
  ) => { readonly text: string; readonly path: string; readonly at: Place } | undefined,
  findings: Findings,
): GivenSection<S> {
  const given: { [K in keyof S]?: Given<S[K]> } = {}
  for (const name of namesOf(rows)) {
    const found = textOf(name)
    if (found === undefined || found.text === rows[name].unset) continue
    const setting = readSetting(rows[name], found.text, found, findings)
    if (setting !== undefined) given[name] = setting
  }
  return given
}

/** Reads one setting's text by its row; undefined where it is wrong. */
function readSetting<T, S>(
  row: Row<T, S>,
  text: string,
  { path, at }: Pick<Given<T>, 'path' | 'at'>,
  findings: Findings,
): Given<T> | undefined {
  const parsed = row.parse(text)
  if (!parsed.ok) {
    findings.refuse(path, at, parsed.message)
    return undefined
  }
  // The items of a list are trimmed.
  if (row.form !== 'flag') findings.warnOfSpaces(path, at, row.form === 'list' ? text.trim() : text)
  return { path, at, value: parsed.value }
}

/** The settings of a section with those of another source above them; `onBoth` is called for each that both have. */
export function overridden<S>(
  below: GivenSection<S>,
  above: GivenSection<S>,
  onBoth: (above: Given<unknown>, below: Given<unknown>) => void,
): GivenSection<S> {
  for (const name of namesOf(above)) {
    const [over, under] = [above[name], below[name]]
    if (over !== undefined && under !== undefined) onBoth(over, under)
  }
  return { ...below, ...above }
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
