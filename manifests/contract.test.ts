import t from 'tap'
import {
  API_GROUP,
  API_VERSION,
  type ConditionType,
  type IdentityLevel,
  KIND,
  MAX_PARENTS,
  MAX_UNMET,
  type NodeAddress,
  NodeReportSpec,
  PLURAL,
  parseSpec,
} from '../agent/shared/node-report.ts'
import { PROOFS } from '../controller/loops/node/decide/lifecycle/absence-proofs.ts'
import { PRECONDITIONS } from '../controller/loops/node/decide/lifecycle/deletion-preconditions.ts'
import { MAX_MESSAGE } from '../controller/types/condition-value.ts'
import { manifestFiles, readManifests } from '../test/servers/manifests.ts'
import { completeSpec, completeStatus } from './testing/sample-report.ts'
import { nodeReportSchema, type StructuralSchema } from './testing/schema.ts'

/** The form that valibot's schemas have in memory, as far as the contract uses it. */
interface Valibot {
  type: string
  entries?: Record<string, Valibot>
  wrapped?: Valibot
  item?: Valibot
  options?: Valibot[]
  pipe?: { type: string; requirement?: unknown }[]
}

/** The structural schema that says what the contract says. */
function structural(schema: Valibot): StructuralSchema {
  const limits: Omit<StructuralSchema, 'type'> = {}
  for (const { type, requirement } of schema.pipe?.slice(1) ?? []) {
    if (type === 'max_length' || type === 'max_code_points')
      limits[schema.type === 'array' ? 'maxItems' : 'maxLength'] = Number(requirement)
    else if (type === 'regex' && requirement instanceof RegExp) limits.pattern = goPattern(requirement.source)
    else if (type === 'min_value') limits.minimum = Number(requirement)
    else if (type === 'max_value') limits.maximum = Number(requirement)
    else if (type !== 'integer') throw new Error(`this test does not know valibot's ${type}`)
  }
  const integer = schema.pipe?.some(({ type }) => type === 'integer')
  switch (schema.type) {
    case 'string':
    case 'boolean':
      return { type: schema.type, ...limits }
    case 'number':
      return { type: integer ? 'integer' : 'number', ...limits }
    case 'array':
      return { type: 'array', ...limits, ...(schema.item ? { items: structural(schema.item) } : {}) }
    case 'object':
      return { type: 'object', ...object(schema.entries ?? {}) }
    case 'union':
      return ipAddress(schema)
    default:
      throw new Error(`this test does not know valibot's ${schema.type}`)
  }
}

function object(entries: Record<string, Valibot>): Pick<StructuralSchema, 'properties' | 'required'> {
  const properties = Object.entries(entries).map(([key, entry]) => {
    const inner = entry.type === 'optional' && entry.wrapped ? entry.wrapped : entry
    return [key, structural(inner)] as const
  })
  const required = Object.keys(entries).filter((key) => entries[key]?.type !== 'optional')
  return { properties: Object.fromEntries(properties), ...(required.length > 0 ? { required } : {}) }
}

/** Without the form that ends in an IPv4 address, which no system shows of an interface. */
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const GROUP = '[0-9A-Fa-f]{1,4}'
const IPV6 = [
  `(${GROUP}:){7}${GROUP}`,
  `(${GROUP}:){1,7}:`,
  ...[1, 2, 3, 4, 5, 6].map((after) => `(${GROUP}:){1,${7 - after}}(:${GROUP}){1,${after}}`),
  `:(:${GROUP}){1,7}`,
  '::',
].join('|')
const IP_ADDRESS = `^((${OCTET}\\.){3}${OCTET}|${IPV6})$`

function ipAddress(union: Valibot): StructuralSchema {
  const kinds = union.options?.map((option) => option.pipe?.[1]?.type)
  if (String(kinds) !== 'ipv4,ipv6') throw new Error(`this test does not know a union of ${String(kinds)}`)
  return { type: 'string', maxLength: 45, pattern: IP_ADDRESS }
}

/** Go's regular expressions have no \u0000, and take two digits after \x for a character below U+0100. */
function goPattern(source: string): string {
  return source.replaceAll(/\\u00([0-9a-f]{2})/g, '\\x$1').replaceAll(/\\u([0-9a-f]{4})/g, '\\x{$1}')
}

/** A schema without what the contract does not speak of: words, and how lists merge. */
function comparable(schema: StructuralSchema): StructuralSchema {
  const {
    description: _description,
    // For what server-side apply leaves as null; the agent always writes the field.
    default: _default,
    'x-kubernetes-map-type': _mapType,
    'x-kubernetes-list-type': _listType,
    ...rest
  } = schema
  const { properties, items } = schema
  return {
    ...rest,
    ...(items ? { items: comparable(items) } : {}),
    ...(properties
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, value]) => [key, comparable(value)]),
          ),
        }
      : {}),
  }
}

const { spec, status } = await nodeReportSchema()

await t.test('the spec in schema and contract is the same, field by field, limit by limit', async (t) => {
  t.strictSame(comparable(spec), structural(NodeReportSpec as unknown as Valibot))
})

await t.test('the names in schema and contract are the same', async (t) => {
  const [crd] = await readManifests('crd.yaml')
  t.match(crd, {
    metadata: { name: `${PLURAL}.${API_GROUP}` },
    spec: { group: API_GROUP, names: { kind: KIND, plural: PLURAL }, versions: [{ name: API_VERSION }] },
  })
})

await t.test('the status in schema and contract has the same fields', async (t) => {
  const compare = (path: string, schema: StructuralSchema | undefined, value: unknown) => {
    if (Array.isArray(value)) {
      t.equal(schema?.type, 'array', path)
      compare(`${path}[]`, schema?.items, value[0])
    } else if (value !== null && typeof value === 'object') {
      t.strictSame(Object.keys(schema?.properties ?? {}).sort(), Object.keys(value).sort(), path)
      for (const [key, entry] of Object.entries(value))
        compare(`${path}.${key}`, schema?.properties?.[key], entry)
    } else {
      t.equal(schema?.type, typeof value === 'number' ? 'integer' : typeof value, path)
    }
  }
  compare('status', status, completeStatus)
})

await t.test('the words of the status in schema and contract are the same', async (t) => {
  const conditions: Record<ConditionType, 0> = {
    VMFound: 0,
    VMUnique: 0,
    IdentityVerified: 0,
    TopologyResolved: 0,
    LabelsResolved: 0,
    AddressesResolved: 0,
    Initialized: 0,
    AgentReports: 0,
    DeletionPossible: 0,
    DeletionPending: 0,
    ServingCertificate: 0,
  }
  const levels: Record<IdentityLevel, 0> = { asserted: 0, reported: 0, proven: 0 }
  const addresses: Record<NodeAddress['type'], 0> = { Hostname: 0, InternalIP: 0, ExternalIP: 0 }
  const fields = status.properties ?? {}
  t.strictSame(fields.conditions?.items?.properties?.type?.enum, Object.keys(conditions))
  t.equal(fields.conditions?.maxItems, Object.keys(conditions).length, 'there is room for one of each')
  t.strictSame(fields.identityLevel?.enum, Object.keys(levels))
  t.strictSame(fields.addresses?.items?.properties?.type?.enum, Object.keys(addresses))
})

await t.test('the limits of the status in schema and contract are the same', async (t) => {
  t.equal(status.properties?.vm?.properties?.parents?.maxItems, MAX_PARENTS)
  const { message } = status.properties?.conditions?.items?.properties ?? {}
  t.ok((message?.maxLength ?? 0) >= MAX_MESSAGE, 'each message that the controller writes has room')
  const { deletionUnmet } = status.properties ?? {}
  t.equal(deletionUnmet?.maxItems, MAX_UNMET)
  const names = [...PROOFS, ...PRECONDITIONS].map(({ name }) => name)
  t.ok(names.length <= MAX_UNMET, 'all that a deletion may wait for has room')
  t.ok(names.every(({ length }) => length <= (deletionUnmet?.items?.maxLength ?? 0)))
})

await t.test('the complete report of these tests fits the contract', async (t) => {
  t.match(parseSpec(completeSpec), { ok: true })
})

await t.test('a report has a spec, and each part one writer, who writes all of it', async (t) => {
  const [crd] = await readManifests('crd.yaml')
  t.match(crd, { spec: { versions: [{ schema: { openAPIV3Schema: { required: ['spec'] } } }] } })
  t.strictSame(
    [spec, status].map((part) => part['x-kubernetes-map-type']),
    ['atomic', 'atomic'],
  )
})

await t.test('a policy that fails refuses, but for the one that only puts labels back', async (t) => {
  for (const file of (await manifestFiles()).filter((name) => name.startsWith('policy-'))) {
    const [policy] = await readManifests(file)
    const failurePolicy = file === 'policy-restore-labels.yaml' ? 'Ignore' : 'Fail'
    t.match(policy, { spec: { failurePolicy } }, file)
  }
})
