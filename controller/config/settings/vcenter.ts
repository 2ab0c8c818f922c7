/** The settings of a vCenter, and what they and the values in its Secret must look like. */
import { isIP } from 'node:net'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { IPFamily } from '../config.ts'
import { shapeOfText } from '../tree.ts'
import { GLOBAL_OTHERS, VCENTER_OTHERS } from './ignored-keys.ts'
import { row, type SectionTable } from './row.ts'
import { flag, itemsOf, listOf, names, text, textOf } from './values.ts'

/** What `global` and each vCenter have in common; the first is the default of the second. Texts are empty if not written. */
export interface VCenterSettings {
  readonly server: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly caFile: string
  readonly thumbprint: string
  readonly insecureFlag: boolean
  readonly datacenters: readonly string[]
  readonly ipFamily: readonly IPFamily[]
  readonly secretName: string
  readonly secretNamespace: string
}

const OR_ELSEWHERE = 'required without Secret and folder'

const ROWS: SectionTable<VCenterSettings>['rows'] = {
  server: row(textOf(parseServer, ''), {
    meaning: 'Host name or IP address, without scheme, port and path.',
    required: true,
  }),
  port: row(textOf(parsePort, 443), {
    meaning: '1 to 65535; 0 is not set.',
    default: '443',
    unset: '0',
  }),
  user: row(textOf(parseUser, ''), { meaning: '', otherwise: OR_ELSEWHERE }),
  password: row(text, {
    meaning: 'Literal; in quotes if it contains ` #` or `: `, or begins with a special character.',
    otherwise: OR_ELSEWHERE,
  }),
  caFile: row(text, {
    meaning: 'PEM file of CAs, or several separated by `:`, relative to `vsphere.conf`: [trust](#trust).',
  }),
  // Written like the other lists, but read where it is known whether it has an effect.
  thumbprint: row(
    { ...text, form: 'list', schema: names.schema },
    {
      meaning: "SHA-1 or SHA-256 of vCenter's certificate; a list, or separated by commas.",
    },
  ),
  insecureFlag: row(flag, {
    meaning: 'If true, no certificate is checked. Flags: `true`, `yes`, `on`, `y`, `1`, or their opposites.',
    default: 'false',
  }),
  datacenters: row(names, {
    meaning:
      'A list, or separated by commas: names (`dc-1`) or inventory paths (`/europe/dc-1`), also with wildcards (`dc-*`, `/*/dc-[12]`), or references (`Datacenter:datacenter-3`). In a name, `/`, `\\` and `%` are `%2f`, `%5c` and `%25`. Other VMs are refused (`DatacenterOutOfScope`).',
    otherwise: 'all',
  }),
  ipFamily: row(listOf(parseFamilies), {
    meaning: '`ipv4`, `ipv6` or a list of both, in order.',
    default: 'ipv4',
  }),
  secretName: row(textOf(parseSecretName, ''), {
    meaning: 'The [Secret](#user-and-password-in-a-secret) with user and password.',
  }),
  secretNamespace: row(textOf(parseNamespace, ''), {
    meaning: 'Its namespace; each needs the other.',
  }),
}

export const VCENTER: SectionTable<VCenterSettings> = { rows: ROWS, others: VCENTER_OTHERS }

/** As in the CPI: either case; empty items do not count. */
function parseFamilies(written: string): Result<readonly IPFamily[]> {
  const families: IPFamily[] = []
  for (const item of itemsOf(written)) {
    const family = item.toLowerCase()
    if (family !== 'ipv4' && family !== 'ipv6')
      return failed('expected ipv4, ipv6 or a list of both, got something else')
    if (!families.includes(family)) families.push(family)
  }
  return ok(families.length === 0 ? ['ipv4'] : families)
}

export interface GlobalSettings extends VCenterSettings {
  readonly secretsDirectory: string
}

export const GLOBAL: SectionTable<GlobalSettings> = {
  rows: {
    ...VCENTER.rows,
    secretsDirectory: row(text, {
      meaning: 'A [folder](#user-and-password-in-a-secret) instead, relative to `vsphere.conf`.',
    }),
  },
  others: GLOBAL_OTHERS,
}

/**
 * A host name or IP address as it goes into a URL's host or a certificate check: IPv6 without brackets. Whatever else
 * people write there (a URL, a port, a path) is refused with what to write instead.
 */
export function parseServer(text: string): Result<string> {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text
  if (isIP(bare) !== 0) return ok(bare)
  if (isHostName(bare) && bare === text) return ok(text)
  if (/^[\d.]+$/.test(text))
    return notServer(`got ${shapeOfText(text)} that looks like an IPv4 address but is not one`)
  return notServer(takeApart(text))
}

/** RFC 1123, and the underscore that internal DNS zones have. */
function isHostName(text: string): boolean {
  if (text.length > 253 || /^[\d.]+$/.test(text)) return false
  return text
    .replace(/\.$/, '')
    .split('.')
    .every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label))
}

function takeApart(text: string): string {
  const match =
    /^(?<scheme>[a-z]+:\/\/)?(?<host>\[[^\]]*\]|[^:/?#@[\]]*)(:(?<port>\d{1,5}))?(?<path>[/?#].*)?$/i.exec(
      text,
    )
  const { scheme, host = '', port, path } = match?.groups ?? {}
  const bare = host.replaceAll(/[[\]]/g, '')
  if (match === null || (isIP(bare) === 0 && !isHostName(bare))) return `got ${shapeOfText(text)}`
  const extra = [
    ...(scheme === undefined ? [] : ['a scheme']),
    ...(port === undefined ? [] : ['a port']),
    ...(path === undefined ? [] : ['a path']),
    ...(host === bare || isIP(bare) !== 0 ? [] : ['brackets']),
  ].join(' and ')
  const instead = [`"server: ${bare}"`, ...(port === undefined ? [] : [`"port: ${port}"`])].join(' and ')
  return `got one with ${extra}: write ${instead}`
}

function notServer(got: string): Result<never> {
  return failed(`expected a host name or IP address, ${got}`)
}

/**
 * SHA-1 or SHA-256 of certificates in hex, separated by commas, so that the old and the new one can be listed while a
 * certificate is renewed. Colons and case do not matter (the CPI takes one only, in upper case with colons).
 *
 * @returns lower-case hex without colons, each once, at least one
 */
export function parseThumbprints(text: string): Result<readonly string[]> {
  const parts = itemsOf(text)
  // Commas alone are refused: with an empty list no certificate would be trusted.
  const written = parts.length === 0 ? [text] : parts
  const found = new Set<string>()
  for (const [index, part] of written.entries()) {
    const checked = parseThumbprint(part)
    if (!checked.ok) {
      const which = written.length === 1 ? '' : `number ${index + 1} of ${written.length} is wrong: `
      return failed(`${which}${checked.message}`)
    }
    found.add(checked.value)
  }
  return ok([...found])
}

function parseThumbprint(text: string): Result<string> {
  const hex = text.replaceAll(':', '').toLowerCase()
  if (!/^[0-9a-f]*$/.test(hex)) return notThumbprint(shapeOfText(text))
  if (hex.length !== 40 && hex.length !== 64) return notThumbprint(`${hex.length} of them`)
  return ok(hex)
}

function notThumbprint(got: string): Result<never> {
  return failed(
    `expected the SHA-1 (40 hex digits) or SHA-256 (64) of vCenter's certificate, got ${got}: get it with "openssl x509 -noout -fingerprint -sha256"`,
  )
}

/** Without a zero in front: to YAML 1.1, which the CPI reads, that is an octal number. */
function parsePort(text: string): Result<number> {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65535) return ok(port)
  return failed(`expected a number from 1 to 65535, got ${shapeOfText(text)}`)
}

/**
 * The URL of a session manager. Plain HTTP, which the CPI takes, would show token and tickets to everybody on the way.
 *
 * @returns the URL as a URL parser writes it
 */
export function parseSessionManagerURL(text: string): Result<string> {
  const refused = (got: string) =>
    failed(`expected a URL such as https://sessions.example.com/session, got ${got}`)
  const url = text.length <= MAX_URL ? URL.parse(text) : null
  if (url === null) return refused(shapeOfText(text))
  if (url.protocol === 'http:') return refused('one without TLS: write https://')
  if (url.protocol !== 'https:') return refused(shapeOfText(text))
  if (url.username !== '' || url.password !== '')
    return refused('one with a user or a password: leave them out, the token has its own key')
  url.hash = ''
  return ok(url.href)
}

/** Characters. */
const MAX_URL = 2_048

/** The CPI takes a certificate as user and its key as password for a login by SAML token. */
export function parseUser(text: string): Result<string> {
  if (!text.includes('-----BEGIN')) return ok(text)
  return failed('a certificate as the user is not supported yet: write a user name and password')
}

/** What goes into a request's path is checked here. */
function parseSecretName(text: string): Result<string> {
  if (text.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text) && !/\.[.-]|-\./.test(text))
    return ok(text)
  return failed(
    `expected the name of a Secret, of lower-case letters, digits, "-" and ".", got ${shapeOfText(text)}`,
  )
}

function parseNamespace(text: string): Result<string> {
  // RFC 1123's label.
  if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text)) return ok(text)
  return failed(
    `expected the name of a namespace, of lower-case letters, digits and "-", got ${shapeOfText(text)}`,
  )
}
