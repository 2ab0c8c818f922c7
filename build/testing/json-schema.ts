import type { Schema } from '../../controller/config/settings/row.ts'

/** The paths of what does not fit a schema, by the few keywords that ours uses. An unknown keyword fails the test. */
export function misfits(value: unknown, root: Schema): readonly string[] {
  return walk(value, root, '')

  function walk(value: unknown, schema: Schema, path: string): readonly string[] {
    const found = Object.entries(schema).flatMap(([keyword, rule]) =>
      check(keyword, rule, value, schema, path),
    )
    return [...new Set(found)]
  }

  function check(
    keyword: string,
    rule: unknown,
    value: unknown,
    schema: Schema,
    path: string,
  ): readonly string[] {
    const unless = (fits: boolean) => (fits ? [] : [path])
    switch (keyword) {
      case '$ref':
        return walk(value, lookUp(String(rule)), path)
      case 'type':
        return unless(listOf(rule).some((type) => isOf(String(type), value)))
      case 'enum':
        return unless(listOf(rule).includes(value))
      case 'const':
        return unless(rule === value)
      case 'pattern':
        return unless(typeof value !== 'string' || new RegExp(String(rule), 'u').test(value))
      case 'minimum':
        return unless(typeof value !== 'number' || value >= Number(rule))
      case 'maximum':
        return unless(typeof value !== 'number' || value <= Number(rule))
      case 'minLength':
        return unless(typeof value !== 'string' || value.length >= Number(rule))
      case 'required':
        return unless(!isMap(value) || listOf(rule).every((key) => String(key) in value))
      case 'minProperties':
        return unless(!isMap(value) || Object.keys(value).length >= Number(rule))
      case 'maxProperties':
        return unless(!isMap(value) || Object.keys(value).length <= Number(rule))
      case 'anyOf':
        return unless(listOf(rule).some((one) => walk(value, asSchema(one), path).length === 0))
      case 'items':
        return Array.isArray(value)
          ? value.flatMap((item, i) => walk(item, asSchema(rule), `${path}/${i}`))
          : []
      case 'properties':
        return isMap(value)
          ? Object.entries(asSchema(rule)).flatMap(([key, one]) =>
              key in value ? walk(value[key], asSchema(one), `${path}/${key}`) : [],
            )
          : []
      case 'additionalProperties':
        return additional(value, schema.properties, rule, path)
      case '$schema':
      case 'title':
      case 'description':
      case 'default':
      case 'deprecated':
      case 'definitions':
        return []
      default:
        throw new Error(`unknown keyword ${keyword}`)
    }
  }

  function additional(value: unknown, properties: unknown, rule: unknown, path: string): readonly string[] {
    if (!isMap(value)) return []
    const known = isMap(properties) ? properties : {}
    return Object.keys(value)
      .filter((key) => !(key in known))
      .flatMap((key) =>
        rule === false ? [`${path}/${key}`] : walk(value[key], asSchema(rule), `${path}/${key}`),
      )
  }

  function lookUp(reference: string): Schema {
    const { definitions } = root
    return asSchema(isMap(definitions) ? definitions[reference.replace('#/definitions/', '')] : undefined)
  }
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'object') return isMap(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function isMap(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function asSchema(value: unknown): Schema {
  if (!isMap(value)) throw new Error('not a schema')
  return value
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}
