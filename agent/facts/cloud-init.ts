import { isIP } from 'node:net'
import { ok, type Result } from '../shared/result.ts'
import { parseYAML } from '../yaml.ts'
import { type Unreadable, unreadable } from './unreadable.ts'

/** The data of cloud-init's VMware datasource. */
export interface CloudInit {
  readonly instanceID?: string
  readonly localHostname?: string
  /** Static addresses of a version 2 network configuration, as written there. */
  readonly addresses?: readonly string[]
}

/** The size of a variable; anything that decompresses to more is refused. */
const MAX_METADATA = 64 * 1024

/**
 * Reads `guestinfo.metadata`, encoded as `guestinfo.metadata.encoding` says. Fields of an unexpected
 * shape are left out; only a text that is not YAML, or a wrong encoding, makes the fact unreadable.
 */
export async function parseMetadata(
  text: string,
  encoding: string | undefined,
): Promise<Result<CloudInit, Unreadable>> {
  const metadata = await load('guestinfo.metadata', text, encoding)
  if (!metadata.ok) return metadata
  const fields = asObject(metadata.value)
  if (fields === undefined) return unreadable('Malformed', 'guestinfo.metadata is not a map of fields')
  const network = await readNetwork(fields)
  if (!network.ok) return network
  const instanceID = asText(fields['instance-id'], 128)
  const localHostname = asText(fields['local-hostname'], 253)
  const addresses = staticAddresses(network.value)
  return ok({
    ...(instanceID === undefined ? {} : { instanceID }),
    ...(localHostname === undefined ? {} : { localHostname }),
    ...(addresses.length === 0 ? {} : { addresses }),
  })
}

/** The network configuration is a map, or a text with its own encoding. */
async function readNetwork(fields: Readonly<Record<string, unknown>>): Promise<Result<unknown, Unreadable>> {
  const { network } = fields
  if (typeof network !== 'string') return ok(network)
  const encoding = fields['network.encoding']
  return load('guestinfo.metadata: network', network, typeof encoding === 'string' ? encoding : undefined)
}

async function load(
  name: string,
  text: string,
  encoding: string | undefined,
): Promise<Result<unknown, Unreadable>> {
  const decoded = decodeGuestinfo(name, text, encoding, MAX_METADATA)
  if (!decoded.ok) return decoded
  try {
    return ok(await parseYAML(decoded.value))
  } catch {
    // Any parser error, from a tab to nesting too deep for its stack; its message quotes the text.
    return unreadable('Malformed', `${name} is neither YAML nor JSON`)
  }
}

function staticAddresses(network: unknown): string[] {
  const found: string[] = []
  for (const kind of ['ethernets', 'bonds', 'bridges', 'vlans']) {
    for (const device of Object.values(asObject(asObject(network)?.[kind]) ?? {})) {
      const list = asObject(device)?.addresses
      for (const entry of Array.isArray(list) ? list : []) {
        // An entry is a text, or a map with one entry from the address to its options.
        const address: unknown = typeof entry === 'string' ? entry : Object.keys(asObject(entry) ?? {})[0]
        if (typeof address === 'string' && isAddress(address) && !found.includes(address)) found.push(address)
      }
    }
  }
  return found
}

function isAddress(text: string): boolean {
  const [address = '', length, ...rest] = text.split('/')
  if (rest.length > 0 || address.includes('%') || isIP(address) === 0) return false
  return (
    length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (isIP(address) === 4 ? 32 : 128))
  )
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
  return { ...value }
}

/** Printable ASCII of at most `max` characters; a number becomes its digits, as YAML authors expect. */
function asText(value: unknown, max: number): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text.length <= max && /^[\x20-\x7e]+$/.test(text) ? text : undefined
}

/**
 * Decodes a guestinfo value by the names that cloud-init knows: `base64` or `b64`, `gzip+base64` or `gz+b64`, none.
 *
 * @param max bytes of the decoded text
 */
function decodeGuestinfo(
  name: string,
  text: string,
  encoding: string | undefined,
  max: number,
): Result<string, Unreadable> {
  const kind = (encoding ?? '').trim().toLowerCase()
  if (kind === '') {
    return Buffer.byteLength(text) > max
      ? unreadable('TooLong', `${name} is longer than ${max} bytes`)
      : ok(text)
  }
  const gzip = kind === 'gzip+base64' || kind === 'gz+b64'
  if (!gzip && kind !== 'base64' && kind !== 'b64') {
    return unreadable('UnknownEncoding', `${name}.encoding is none of base64, gzip+base64`)
  }
  const digits = text.replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits)) return unreadable('Malformed', `${name} is not base64`)
  const bytes = Buffer.from(digits, 'base64')
  if (!gzip) {
    return bytes.length > max
      ? unreadable('TooLong', `${name} is longer than ${max} bytes`)
      : ok(bytes.toString('utf8'))
  }
  // Loaded only if there is something to decompress: it takes half a megabyte that most machines never need.
  const { gunzipSync } = process.getBuiltinModule('node:zlib')
  try {
    return ok(gunzipSync(bytes, { maxOutputLength: max }).toString('utf8'))
  } catch (error) {
    if (error instanceof RangeError)
      return unreadable('TooLong', `${name} decompresses to more than ${max} bytes`)
    return unreadable('Malformed', `${name} is not gzip`)
  }
}
