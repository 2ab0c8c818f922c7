import { OTHER_SECTIONS } from '../controller/config/settings/ignored-keys.ts'
import type { AnyRow, AnySection, Others, Schema } from '../controller/config/settings/row.ts'
import { SECTION_ALIASES, SECTIONS } from '../controller/config/settings/sections.ts'

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
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'vsphere.conf',
    description: "The configuration of Rollcall's controller, in the YAML form of the vSphere CPI",
    type: 'object',
    additionalProperties: false,
    properties: spelled([...sections, ...aliases, ...others(OTHER_SECTIONS)]),
    definitions,
  }
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
