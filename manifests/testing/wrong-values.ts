import type { StructuralSchema } from './schema.ts'

/** One way in which a field can be wrong. */
export interface Wrong {
  /** Field as the API server names it, as `spec.interfaces[0].mac`. */
  field: string
  how: string
  /** The whole of the value that was handed in, with this one field wrong. */
  value: unknown
}

/** Each field of `value` wrong in turn, in each of the ways that `schema` should refuse. */
export function wrongValues(field: string, schema: StructuralSchema, value: unknown): Wrong[] {
  const wrong = own(schema, value).map(({ how, value }) => ({ field, how, value }))
  if (Array.isArray(value) && schema.items) {
    const [first, ...others] = value
    const inner = wrongValues(`${field}[0]`, schema.items, first)
    return [...wrong, ...inner.map((item) => ({ ...item, value: [item.value, ...others] }))]
  }
  if (!isObject(value)) return wrong
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const inner = wrongValues(`${field}.${key}`, property, value[key])
    wrong.push(...inner.map((item) => ({ ...item, value: { ...value, [key]: item.value } })))
  }
  for (const key of schema.required ?? []) {
    if (schema.properties?.[key]?.default !== undefined) continue
    const { [key]: _, ...others } = value
    wrong.push({ field: `${field}.${key}`, how: 'left out', value: others })
  }
  return wrong
}

function own(schema: StructuralSchema, value: unknown): { how: string; value: unknown }[] {
  const wrong = [{ how: 'another type', value: schema.type === 'string' ? 7 : 'text' }]
  const say = (how: string, value: unknown) => wrong.push({ how, value: value as string })
  if (schema.enum) say('an unknown word', 'Nonsense')
  // ESC and U+009B start a terminal's commands, U+202E writes what follows backwards.
  if (schema.pattern) {
    for (const code of [
      0, 0xa, 0xd, 0x1b, 0x1f, 0x7f, 0x80, 0x9b, 0x9f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069,
    ])
      say(`the character ${code.toString(16)}`, `${value}${String.fromCodePoint(code)}`)
  }
  if (schema.maxLength) say('too long', 'x'.repeat(schema.maxLength + 1))
  if (schema.format === 'date-time') say('no date', 'yesterday')
  if (schema.minimum !== undefined) say('too small', schema.minimum - 1)
  if (schema.maximum !== undefined) say('too large', schema.maximum + 1)
  if (schema.type === 'integer') say('a fraction', 1.5)
  if (schema.pattern?.includes('25[0-5]'))
    for (const text of ['10.0.0.500', ':', ':::', '1::2::3', '1:2:3:4:5:6:7:8:9', 'fe80::1%eth0'])
      say('not an address', text)
  if (schema.maxItems && Array.isArray(value)) {
    say(
      'too many',
      Array.from({ length: schema.maxItems + 1 }, () => value[0]),
    )
  }
  return wrong
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
