import { ok, type Result } from '../shared/result.ts'
import { type Unreadable, unreadable } from './unreadable.ts'

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
