/** Files made up by a seed: every setting of the CPI, in its three forms, in ways of writing that both readers know. */
import type { Random } from '../simulation/random.ts'
import { generateAddressSettings, RARE } from './generate-addresses.ts'

/** The sections of a file; a vCenter's name stands behind a blank, as in INI. */
type Model = ReadonlyMap<string, ReadonlyMap<string, Value>>
type Value = string | number | boolean | readonly string[]

const TEXTS: readonly string[] = [
  'plain',
  'two words',
  'user@vsphere.local',
  'DOMAIN\\user',
  'semi;colon',
  'hash#tag',
  ' blanks around ',
  'quote"in"it',
  "it's",
  'a: b',
  '- dash',
  '[x]',
  '{x}',
  '007',
  'true',
  'null',
  '~',
  '1e3',
  '%percent',
  '@at',
  '!bang',
  '&and',
  '*star',
  'tab\tin',
  'line\nbreak',
  'pässwörd',
  '日本',
  '=',
  '\\',
  '"',
]
const SERVERS = ['vc.example.com', '192.0.2.1', '2001:db8::1', 'VC-2.example.com', '198.51.100.20']
const SUBNETS = ['192.0.2.0/24', '198.51.100.7/32', '2001:db8::/32', '0.0.0.0/0', 'fe80::1/128']
const SHA1 = '5E:A4:E3:51:C8:5B:F9:1F:8D:5D:D2:25:12:DD:17:C0:37:D2:C0:5C'

/** A file's sections and settings, not always enough of them. */
function modelOf(random: Random): Model {
  const model = new Map<string, ReadonlyMap<string, Value>>()
  const some = (settings: Record<string, () => Value>): ReadonlyMap<string, Value> =>
    new Map(Object.entries(settings).flatMap(([key, value]) => (random.chance(RARE) ? [[key, value()]] : [])))
  const text = () => random.pick(TEXTS)
  const subnets = () =>
    [random.pick(SUBNETS), ...(random.chance(0.4) ? [random.pick(SUBNETS)] : [])].join(',')
  const common = {
    user: text,
    password: text,
    port: () => random.pick([0, 443, 8443]),
    insecureFlag: () => random.chance(0.5),
    datacenters: () => random.pick([['dc-1'], ['dc-1', '/europe/dc 2'], []]),
    soapRoundtripCount: () => random.below(10),
    // Both together are a listed difference.
    ...(random.chance(0.5) ? { caFile: () => '/etc/cloud/ca.pem' } : { thumbprint: () => SHA1 }),
    secretName: () => 'credentials',
    secretNamespace: () => 'kube-system',
    ipFamily: () => random.pick([['ipv4'], ['ipv6'], ['ipv4', 'ipv6'], ['ipv6', 'ipv4']]),
  }
  model.set('global', some({ ...common, secretsDirectory: () => '/etc/cloud/secret' }))
  const servers = [...SERVERS].slice(random.below(3), 3 + random.below(3))
  for (const server of servers) {
    const named = random.chance(0.5)
    const settings = new Map(some(common))
    settings.set('server', server)
    model.set(`vcenter ${named ? server : `tenant-${random.below(1000)}`}`, settings)
  }
  model.set('labels', some({ zone: text, region: text }))
  model.set('nodes', new Map(Object.entries(generateAddressSettings(subnets, text, random))))
  return model
}

/** The file in the form asked for. */
export function generateFile(form: 'yaml' | 'json' | 'ini', random: Random): string {
  const model = modelOf(random)
  switch (form) {
    case 'ini':
      return toINI(model, random)
    case 'json':
      return JSON.stringify(toObject(model), undefined, random.pick(['', ' ', '\t']))
    case 'yaml':
      return toYAML(model, random)
  }
}

function toObject(model: Model): object {
  const vcenter: Record<string, object> = {}
  const file: Record<string, object> = { vcenter }
  for (const [section, settings] of model) {
    const [name = '', of] = section.split(' ')
    if (of === undefined) file[name] = Object.fromEntries(settings)
    else vcenter[of] = Object.fromEntries(settings)
  }
  return file
}

function toYAML(model: Model, random: Random): string {
  const lines: string[] = []
  let inVCenters = false
  for (const [section, settings] of model) {
    const [name, of] = section.split(' ')
    if (of !== undefined && !inVCenters) lines.push('vcenter:')
    inVCenters = of !== undefined
    lines.push(of === undefined ? `${name}:` : `  "${of}":`)
    const indent = of === undefined ? '  ' : '    '
    for (const [key, value] of settings) {
      if (typeof value !== 'object') lines.push(`${indent}${key}: ${yamlValue(value, random)}`)
      else if (random.chance(0.5))
        lines.push(`${indent}${key}: [${value.map((item) => yamlValue(item, random)).join(', ')}]`)
      else lines.push(`${indent}${key}:`, ...value.map((item) => `${indent}- ${yamlValue(item, random)}`))
    }
    if (random.chance(0.2)) lines.push('', '# a comment')
  }
  return `${lines.join('\n')}\n`
}

function yamlValue(value: string | number | boolean, random: Random): string {
  if (typeof value !== 'string') return String(value)
  if (/^[a-z][a-z0-9/ .@-]*[a-z0-9]$/i.test(value) && value !== 'true' && value !== 'null') return value
  if (/[\n\t]/.test(value) || random.chance(0.5)) return JSON.stringify(value)
  return `'${value.replaceAll("'", "''")}'`
}

function toINI(model: Model, random: Random): string {
  const lines: string[] = []
  for (const [section, settings] of model) {
    const [name = '', of] = section.split(' ')
    lines.push(
      of === undefined ? `[${capital(name)}]` : `[VirtualCenter "${of}"]${random.pick(['', ' # one'])}`,
    )
    for (const [key, value] of settings) {
      // The CPI takes it for the port here.
      if (value === 0) continue
      const spelled = key.replaceAll(/[A-Z]+/g, (letters) => `-${letters.toLowerCase()}`)
      const written = typeof value === 'object' ? value.join(random.pick([',', ', '])) : String(value)
      if (value === true && random.chance(0.3)) lines.push(spelled)
      else
        lines.push(
          `${random.pick(['', '\t'])}${spelled}${random.pick(['=', ' = '])}${iniValue(written, random)}`,
        )
    }
    if (random.chance(0.2)) lines.push('', '; a comment')
  }
  return lines.join(random.pick(['\n', '\n', '\r\n']))
}

function capital(name: string): string {
  return name.replace(/^./, (letter) => letter.toUpperCase())
}

function iniValue(value: string, random: Random): string {
  const quoted = `"${value.replaceAll(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`
  const bare = !/[\\";#\n]|^\s|\s$/.test(value) && value !== ''
  return bare && random.chance(0.5) ? `${value}${random.pick(['', ' ', ' ; why'])}` : quoted
}

/** Text of the characters that mean something in INI, so that what is wrong with it is found by both or by none. */
export function generateINIText(random: Random): string {
  const pieces = [
    'a',
    'b c',
    ' ',
    '"',
    '"',
    '\\',
    '\\\\',
    '\\"',
    '\\n',
    ';',
    '#',
    '=',
    '[',
    ']',
    '\t',
    '\n',
    '\\\n',
    '\r\n',
    '\\\r\n',
    'é',
    "'",
  ]
  return Array.from({ length: 1 + random.below(8) }, () => random.pick(pieces)).join('')
}
