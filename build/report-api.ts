/** What others read of the NodeReport's schema: the tables of docs/api.md, and the types that a release has as a package. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { API_GROUP, API_VERSION, KIND } from '../agent/shared/node-report.ts'
import { nodeReportSchema, type StructuralSchema } from '../manifests/testing/schema.ts'
import { fillTables, table } from './config-reference.ts'
import { runAsProgram } from './entry.ts'
import { root, type Source } from './programs.ts'
import { gzipped, type TarEntry, tar } from './tar.ts'

export const DOCS = 'docs/api.md'
const PACKAGE = 'rollcall-node-report'
/** How the description of a field begins that is not promised. */
const INTERNAL = 'Internal: '

/** The name of the type of these fields' objects. Fields that share a schema share its type. */
const TYPES: Readonly<Record<string, string>> = {
  spec: 'NodeReportSpec',
  'spec.interfaces': 'NetworkInterface',
  'spec.interfaces.addresses': 'InterfaceAddress',
  'spec.unreadable': 'UnreadableFact',
  status: 'NodeReportStatus',
  'status.vm': 'BoundVM',
  'status.vm.parents': 'ParentObject',
  'status.addresses': 'NodeAddress',
  'status.conditions': 'Condition',
}

/** A field of a NodeReport, with its path; {@link StructuralSchema} has no names. */
interface Field {
  readonly path: string
  readonly schema: StructuralSchema
}

/** All fields below one, each after the one that it is part of. What an alias in the manifest repeats is left out. */
function fieldsBelow(path: string, schema: StructuralSchema, seen = new Set<object>()): readonly Field[] {
  const { properties } = schema.items ?? schema
  if (properties === undefined || seen.has(properties)) return []
  seen.add(properties)
  return Object.entries(properties).flatMap(([name, inner]) => {
    const own = { path: `${path}.${name}`, schema: inner }
    return [own, ...fieldsBelow(own.path, inner, seen)]
  })
}

/** The text of {@link DOCS} with its tables as they should be. */
export async function withFields(text: string): Promise<string> {
  const { spec, status } = await nodeReportSchema()
  const [ofSpec, ofStatus] = [fieldsBelow('spec', spec), fieldsBelow('status', status)]
  const isInternal = ({ schema }: Field) => schema.description?.startsWith(INTERNAL) === true
  const row = ({ path, schema }: Field) => [`\`${path}\``, kindOf(schema)]
  const tableOf = (fields: readonly Field[]) =>
    table(
      ['field', 'type', 'meaning'],
      fields.map((field) => [...row(field), field.schema.description ?? '']),
    )
  const tables = new Map([
    ['spec', tableOf(ofSpec)],
    ['status', tableOf(ofStatus.filter((field) => !isInternal(field)))],
    ['internal', table(['field', 'type'], ofStatus.filter(isInternal).map(row))],
  ])
  return fillTables(text, tables, DOCS)
}

function kindOf({ type, items, enum: words, format }: StructuralSchema): string {
  if (items !== undefined) return `${kindOf(items)}[]`
  return words === undefined
    ? format === 'date-time'
      ? 'time'
      : type
    : words.map((word) => `\`${word}\``).join(', ')
}

/** The declarations of all types. */
export async function declarations(): Promise<string> {
  const parts = Object.entries(await nodeReportSchema())
  const named = new Map<object, { readonly name: string; readonly schema: StructuralSchema }>()
  for (const { path, schema } of parts.flatMap(([path, schema]) => [
    { path, schema },
    ...fieldsBelow(path, schema),
  ])) {
    const { properties } = schema.items ?? schema
    const name = TYPES[path]
    if (name !== undefined && properties !== undefined) named.set(properties, { name, schema })
  }
  const typeOf = (schema: StructuralSchema, indent: string): string => {
    const { type, properties, items, enum: words } = schema
    if (items !== undefined) return `readonly ${typeOf(items, indent)}[]`
    if (properties !== undefined) return named.get(properties)?.name ?? members(schema, indent)
    if (words !== undefined) return words.map((word) => `'${word}'`).join(' | ')
    return type === 'integer' ? 'number' : type
  }
  const members = ({ properties = {}, required = [] }: StructuralSchema, indent: string): string => {
    const inner = `${indent}  `
    const lines = Object.entries(properties).map(([name, schema]) => {
      const optional = required.includes(name) ? '' : '?'
      return `${inner}/** ${schema.description} */\n${inner}readonly ${name}${optional}: ${typeOf(schema, inner)}\n`
    })
    return `{\n${lines.join('')}${indent}}`
  }
  const interfaces = [...named.values()].map(
    ({ name, schema }) =>
      `/** ${schema.description} */\nexport interface ${name} ${members(schema.items ?? schema, '')}\n`,
  )
  return `${HEAD}\n${interfaces.join('\n')}`
}

const HEAD = `/** The part of \`metav1.ObjectMeta\` that a reader of reports needs. */
export interface ObjectMeta {
  readonly name: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** What the agent on a machine reported (spec), and what the controller found out from vCenter (status). */
export interface ${KIND} {
  readonly apiVersion: '${API_GROUP}/${API_VERSION}'
  readonly kind: '${KIND}'
  readonly metadata: ObjectMeta
  readonly spec: NodeReportSpec
  readonly status?: NodeReportStatus
}
`

/** The package as \`npm pack\` would pack it; the same bytes each time. */
export async function typesPackage({ version }: Pick<Source, 'version'>) {
  const about = {
    name: PACKAGE,
    version,
    description: `Types of the ${KIND} of Rollcall (${API_GROUP})`,
    license: 'Apache-2.0',
    type: 'module',
    types: './index.d.ts',
    exports: { '.': { types: './index.d.ts' } },
  }
  const file = (name: string, content: string | Buffer): TarEntry => {
    return { type: 'file', path: `package/${name}`, mode: 0o644, content: Buffer.from(content) }
  }
  const entries = [
    file('package.json', `${JSON.stringify(about, undefined, 2)}\n`),
    file('index.d.ts', await declarations()),
    file('LICENSE', await readFile(join(root, 'LICENSE'))),
  ]
  return { name: `${PACKAGE}-${version}.tgz`, content: await gzipped(await tar(entries)) }
}

async function main(): Promise<void> {
  const docs = join(root, DOCS)
  await writeFile(docs, await withFields(await readFile(docs, 'utf8')))
}

if (import.meta.main) runAsProgram(main)
