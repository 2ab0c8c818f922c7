/** cloud-init's metadata for VMware, in guestinfo: what the agent reads in the machine, and the controller from vCenter. */
import { isIP } from 'node:net'
import { ok, type Result } from './result.ts'

/** Bytes: the size of a variable; anything that decompresses to more is refused. */
export const MAX_METADATA = 64 * 1024

/** Why a value cannot be decoded; the message never quotes it. */
interface Undecodable {
  readonly reason: 'Malformed' | 'TooLong' | 'UnknownEncoding'
  readonly message: string
}

/** The static addresses of a version 2 network configuration, each once. */
export function staticAddresses(network: unknown): string[] {
  const found: string[] = []
  for (const kind of ['ethernets', 'bonds', 'bridges', 'vlans']) {
    for (const device of Object.values(asObject(asObject(network)?.[kind]) ?? {})) {
      const list = asObject(device)?.addresses
      for (const entry of Array.isArray(list) ? list : []) {
        // An entry is a text, or a map with one entry from the address to its options.
        const address: unknown = typeof entry === 'string' ? entry : Object.keys(asObject(entry) ?? {})[0]
        const usable = typeof address === 'string' ? usableAddress(address) : undefined
        if (usable !== undefined && !found.includes(usable)) found.push(usable)
      }
    }
  }
  return found
}

/** An address with its prefix length, which is left out if it is impossible: the CPI ignores what follows the slash. */
function usableAddress(text: string): string | undefined {
  const [address = '', length, ...rest] = text.split('/')
  if (address.includes('%') || isIP(address) === 0) return undefined
  const isLength = length !== undefined && rest.length === 0 && /^\d{1,3}$/.test(length)
  return isLength && Number(length) <= (isIP(address) === 4 ? 32 : 128) ? text : address
}

/** The fields of a map; undefined for anything else. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
  return { ...value }
}

/**
 * Decodes a guestinfo value by the names that cloud-init knows: `base64` or `b64`, `gzip+base64` or `gz+b64`, none.
 *
 * @param max bytes of the decoded text
 */
export function decodeGuestinfo(
  name: string,
  text: string,
  encoding: string | undefined,
  max: number,
): Result<string, Undecodable> {
  const kind = (encoding ?? '').trim().toLowerCase()
  if (kind === '') {
    return Buffer.byteLength(text) > max
      ? undecodable('TooLong', `${name} is longer than ${max} bytes`)
      : ok(text)
  }
  const gzip = kind === 'gzip+base64' || kind === 'gz+b64'
  if (!gzip && kind !== 'base64' && kind !== 'b64') {
    return undecodable('UnknownEncoding', `${name}.encoding is none of base64, gzip+base64`)
  }
  const digits = text.replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits)) return undecodable('Malformed', `${name} is not base64`)
  const bytes = Buffer.from(digits, 'base64')
  if (!gzip) {
    return bytes.length > max
      ? undecodable('TooLong', `${name} is longer than ${max} bytes`)
      : ok(bytes.toString('utf8'))
  }
  // Loaded only if there is something to decompress: it takes half a megabyte that most machines never need.
  const { gunzipSync } = process.getBuiltinModule('node:zlib')
  try {
    return ok(gunzipSync(bytes, { maxOutputLength: max }).toString('utf8'))
  } catch (error) {
    if (error instanceof RangeError)
      return undecodable('TooLong', `${name} decompresses to more than ${max} bytes`)
    return undecodable('Malformed', `${name} is not gzip`)
  }
}

function undecodable(reason: Undecodable['reason'], message: string): Result<never, Undecodable> {
  return { ok: false, reason, message }
}
