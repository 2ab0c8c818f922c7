/** What of DER a certificate is made of (X.690): each value is a tag, a length and its contents. */

export type DER = Buffer

export function der(tag: number, ...contents: readonly Uint8Array[]): DER {
  const body = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body.length)]), body])
}

export const sequence = (...items: readonly DER[]): DER => der(0x30, ...items)
export const setOf = (...items: readonly DER[]): DER => der(0x31, ...items)
export const octets = (bytes: Uint8Array): DER => der(0x04, bytes)
export const utf8 = (text: string): DER => der(0x0c, Buffer.from(text))
export const nothing: DER = der(0x05)
export const yes: DER = der(0x01, Buffer.from([0xff]))

/** With the number of bits at the end that do not count. */
export const bits = (bytes: Uint8Array, unused = 0): DER => der(0x03, Buffer.from([unused]), bytes)

/** A number that is not negative, most significant byte first. Readers refuse one with more leading zeros than it needs. */
export function integer(bytes: Uint8Array): DER {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first)
  const sign = (digits[0] ?? 0) >= 0x80 ? [0] : []
  return der(0x02, Buffer.from(sign), digits)
}

/** Of the years up to 2049. */
export function utcTime(ms: number): DER {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(0x17, Buffer.from(text.slice(2)))
}

/** As `2.5.4.3`. */
export function oid(text: string): DER {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** All but the last byte have the highest bit set. */
function base128(value: number): number[] {
  const groups = [value & 0x7f]
  for (let left = value >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80)
  return groups
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes = []
  for (let left = length; left > 0; left >>>= 8) bytes.unshift(left & 0xff)
  return [0x80 | bytes.length, ...bytes]
}
