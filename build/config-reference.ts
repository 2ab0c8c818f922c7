/** Writes what the docs say about each setting, and the schema for editors, from the controller's table of settings. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PLACES } from '../controller/config/config.ts'
import { LABEL_RULES, PLACE_VALUE, SOURCE_KEYS, WHEN } from '../controller/config/label-rules.ts'
import {
  GLOBAL_VARIABLES,
  IDLE_SUFFIX,
  IDLE_VARIABLES,
  LABEL_VARIABLES,
  NAMING,
  NODE_VARIABLES,
  SKIP_DELETION,
  type Variable,
  VCENTER_VARIABLES,
} from '../controller/config/settings/environment.ts'
import { OTHER_SECTIONS } from '../controller/config/settings/ignored-keys.ts'
import type { AnyRow, AnySection, Others, Schema } from '../controller/config/settings/row.ts'
import { SECTION_ALIASES, SECTIONS } from '../controller/config/settings/sections.ts'
import { runAsProgram } from './entry.ts'

export const DOCS = 'docs/configuration.md'
export const SCHEMA = 'docs/vsphere-conf.schema.json'

/** What is said of something that several sections may have; they are named as the docs name them. */
interface Entry<T> {
  readonly name: string
  readonly under: readonly string[]
  readonly said: T
}

/** Rows and others by name and section; those of `global` and of a vCenter that have one name are one entry. */
function entries<T>(of: (section: AnySection) => Readonly<Record<string, T>>): readonly Entry<T>[] {
  const found = new Map<string, { name: string; under: string[]; said: T }>()
  const { vcenter, global, ...rest } = SECTIONS
  for (const [section, table] of Object.entries<AnySection>({ vCenter: vcenter, global, ...rest })) {
    const common = section === 'vCenter' || section === 'global'
    for (const [name, said] of Object.entries(of(table))) {
      const key = common ? name : `${section}.${name}`
      const entry = found.get(key) ?? { name, under: [], said }
      entry.under.push(section === 'vCenter' ? section : `\`${section}\``)
      found.set(key, entry)
    }
  }
  return [...found.values()]
}

const ROWS: readonly Entry<AnyRow>[] = entries(({ rows }) => rows)
const OTHERS: readonly Entry<Others[string]>[] = [
  ...entries(({ others }) => others),
  ...Object.entries(OTHER_SECTIONS).map(([name, said]) => ({ name, under: ['top'], said })),
]

/** The tables of {@link DOCS}, by the name of their markers. */
export function tables(): ReadonlyMap<string, string> {
  const conduct = ROWS.filter(({ said }) => said.protects !== undefined)
  const others = ROWS.filter(({ said }) => said.protects === undefined)
  return new Map([
    [
      'settings',
      table(
        ['setting', 'under', 'meaning', 'default'],
        others.map(({ name, under, said }) => [
          `\`${name}\``,
          under.length > 1 ? '' : under.join(', '),
          said.meaning,
          standard(said),
        ]),
      ),
    ],
    [
      'lifecycle',
      table(
        ['setting', 'under', 'meaning', 'default', 'protects against'],
        conduct.map(({ name, under, said }) => [
          `\`${name}\``,
          under.join(', '),
          said.meaning,
          standard(said),
          said.protects ?? '',
        ]),
      ),
    ],
    ['ignored', reasons(OTHERS.map((entry) => ({ ...entry, why: entry.said.meaning })))],
    ['environment', environmentTable()],
  ])
}

/** One line for all variables that the CPI treats alike; each is named after its setting. */
function environmentTable(): string {
  const named = 'VCENTER_<id>_'
  const ours = (variables: Readonly<Record<string, Variable>>, prefix: string, where: string) =>
    Object.values(variables).map(({ name, cpi }) => ({ name: `${prefix}${name}`, cpi, effect: where }))
  const groups = Map.groupBy(
    [
      ...ours(GLOBAL_VARIABLES, '', 'under `global`'),
      ...ours(LABEL_VARIABLES, '', 'under `labels`'),
      ...ours(NODE_VARIABLES, '', 'under `nodes`'),
      {
        name: `${NAMING}<id>`,
        cpi: 'names a vCenter; it is also the server unless another is given',
        effect: 'the same; settings without a variable stay as in the file',
      },
      ...ours(VCENTER_VARIABLES, named, 'under that vCenter'),
      {
        ...SKIP_DELETION,
        effect: '`deletion: off` under `lifecycle`',
      },
      ...[{ ...IDLE_SUFFIX, name: `${named}${IDLE_SUFFIX.name}` }, ...IDLE_VARIABLES].map((variable) => {
        return { ...variable, effect: 'no effect' }
      }),
    ],
    ({ cpi, effect }) => `${cpi} | ${effect}`,
  )
  const rows = [...groups.values()].map((group) => [
    group.map(({ name }) => `\`${name}\``).join(', '),
    group[0]?.cpi ?? '',
    group[0]?.effect ?? '',
  ])
  return table(['variable', 'the CPI', 'Rollcall'], rows)
}

function standard({ default: written, otherwise = '', required }: AnyRow): string {
  if (required) return 'required'
  return written === undefined ? otherwise : `\`${written}\``
}

/** One line for all that the same sections have for the same reason. */
function reasons(others: readonly { name: string; under: readonly string[]; why: string }[]): string {
  const groups = Map.groupBy(others, ({ under, why }) => `${under.join(', ')} | ${why}`)
  const lines = [...groups].map(([rest, group]) => [group.map(({ name }) => `\`${name}\``).join(', '), rest])
  return table(['setting', 'under', 'why'], lines)
}

/** A table in Markdown; no cell may hold a line break. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |')).join('\n')
}

const MARKED = /(<!-- generated: ([a-z]+) -->\n)[\s\S]*?(\n<!-- end -->)/g

/** The text with each table between its markers as it should be. */
export function withTables(text: string): string {
  return fillTables(text, tables(), DOCS)
}

/**
 * The text of a document with each table, by the name of its markers, between them.
 *
 * @throws Error where there are no markers for one
 */
export function fillTables(text: string, known: ReadonlyMap<string, string>, file: string): string {
  const used = new Set<string>()
  const written = text.replaceAll(MARKED, (_, begin: string, name: string, end: string) => {
    used.add(name)
    return `${begin}${known.get(name) ?? ''}${end}`
  })
  const unused = [...known.keys()].filter((name) => !used.has(name))
  if (unused.length > 0) throw new Error(`no markers in ${file} for ${unused.join(', ')}`)
  return written
}

async function main(): Promise<void> {
  const root = join(import.meta.dirname, '..')
  const docs = join(root, DOCS)
  await writeFile(docs, withTables(await readFile(docs, 'utf8')))
  await writeFile(join(root, SCHEMA), JSON.stringify(schemaOf(), undefined, 2))
  await promisify(execFile)('biome', ['format', '--write', SCHEMA], { cwd: root })
}

/**
 * The JSON Schema (draft 7) of `vsphere.conf` for editors: names, kinds of values, defaults, what they mean. Keys are there
 * in the three usual spellings; the controller takes any case besides.
 */
export function schemaOf(): Schema {
  const definitions: Record<string, Schema> = {}
  for (const [name, section] of Object.entries<AnySection>(SECTIONS)) {
    const entries = [
      ...Object.entries(section.rows).map(([key, row]) => [key, ofRow(row)] as const),
      ...Object.entries(section.others).map(([key, other]) => [key, ofOther(other)] as const),
    ]
    for (const [key, schema] of entries) definitions[`${name}.${key}`] = schema
    definitions[name] = {
      type: ['object', 'null'],
      additionalProperties: false,
      properties: spelled(entries.map(([key]) => [key, reference(`${name}.${key}`)])),
    }
  }
  const each = { type: ['object', 'null'], additionalProperties: reference('vcenter') }
  const sections = Object.keys(SECTIONS).map(
    (name) => [name, name === 'vcenter' ? each : reference(name)] as const,
  )
  const aliases = [...SECTION_ALIASES].map(
    ([alias, name]) => [alias, name === 'vcenter' ? each : reference(name)] as const,
  )
  definitions[LABEL_RULES] = LABEL_RULES_SCHEMA
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'vsphere.conf',
    description: "The configuration of Rollcall's controller, in the YAML form of the vSphere CPI",
    type: 'object',
    additionalProperties: false,
    properties: spelled([
      ...sections,
      [LABEL_RULES, reference(LABEL_RULES)],
      ...aliases,
      ...others(OTHER_SECTIONS),
    ]),
    definitions,
  }
}

const TEXT_SCHEMA: Schema = { type: 'string', minLength: 1 }

const LABEL_RULES_SCHEMA: Schema = {
  description: 'Labels whose values are read in vCenter.',
  type: ['array', 'null'],
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['label', 'from'],
    properties: {
      label: { description: 'The key of the label.', ...TEXT_SCHEMA },
      from: {
        description: 'One source: a tag category, a custom attribute, or the name of an object above the VM.',
        type: 'object',
        additionalProperties: false,
        minProperties: 1,
        maxProperties: 1,
        properties: spelled(
          SOURCE_KEYS.map((key) => [
            key,
            PLACES.some((place) => place === key) ? { enum: [PLACE_VALUE] } : TEXT_SCHEMA,
          ]),
        ),
      },
      map: {
        description: 'Label values by the names in vCenter; other names are taken as they are.',
        type: ['object', 'null'],
        additionalProperties: { type: ['string', 'number', 'boolean'] },
      },
      when: { description: 'Whether the label follows vCenter.', default: WHEN[0], enum: [...WHEN, null] },
    },
  },
}

function others(of: Others) {
  return Object.entries(of).map(([name, other]) => [name, ofOther(other)] as const)
}

function reference(name: string): Schema {
  return { $ref: `#/definitions/${name}` }
}

function ofRow(row: AnyRow): Schema {
  const { schema, meaning, default: written } = row
  return {
    description: meaning,
    ...(written === undefined ? {} : { default: written }),
    ...schema,
  }
}

function ofOther({ meaning }: Others[string]): Schema {
  return { description: `Has no effect. ${meaning}`, deprecated: true }
}

/** Each key in camel case, with hyphens and with underscores. */
function spelled(entries: readonly (readonly [string, Schema])[]): Record<string, Schema> {
  return Object.fromEntries(
    entries.flatMap(([key, schema]) =>
      [key, separated(key, '-'), separated(key, '_')].map((name) => [name, schema]),
    ),
  )
}

function separated(key: string, by: string): string {
  return key.replaceAll(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, `$1$3${by}$2$4`).toLowerCase()
}

if (import.meta.main) runAsProgram(main)
