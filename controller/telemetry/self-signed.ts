import { createHash, createPrivateKey, createPublicKey, generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'

// What of DER a certificate is made of (X.690): each value is a tag, a length and its contents.

function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body.length)]), body])
}

const sequence = (...items: readonly Buffer[]): Buffer => der(0x30, ...items)
const setOf = (...items: readonly Buffer[]): Buffer => der(0x31, ...items)
const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes)
const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text))
const nothing: Buffer = der(0x05)
const yes: Buffer = der(0x01, Buffer.from([0xff]))

/** With the number of bits at the end that do not count. */
const bits = (bytes: Uint8Array, unused = 0): Buffer => der(0x03, Buffer.from([unused]), bytes)

/** A number that is not negative, most significant byte first. Readers refuse one with more leading zeros than it needs. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first)
  const sign = (digits[0] ?? 0) >= 0x80 ? [0] : []
  return der(0x02, Buffer.from(sign), digits)
}

/** Of the years up to 2049. */
function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(0x17, Buffer.from(text.slice(2)))
}

/** As `2.5.4.3`. */
function oid(text: string): Buffer {
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

/** A certificate and its key, both as PEM. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

const NAME = 'rollcall-controller'
const YEAR = 365.25 * 86_400_000
/** A clock that is behind must not find it too new. */
const SLACK = 3_600_000

/**
 * Makes a certificate that nobody has vouched for, for a server on this machine: `localhost`, 127.0.0.1 and ::1, like that of
 * the CPI. It holds for ten years, longer than any process, since nobody would renew it. RSA, because a list of cipher suites
 * may have no others.
 *
 * Its own few lines of DER (RFC 5280) instead of a library: node:crypto signs but writes no certificates, and what would be
 * pulled in for that is more code than the rest of the program's TLS, in a process that holds vCenter's password.
 *
 * @param now milliseconds since the epoch
 * @param key in PEM, RSA; a new one by default
 * @throws where that is not an RSA key
 */
export async function createSelfSigned(now: number, key?: string): Promise<KeyPair> {
  const privateKey =
    key === undefined
      ? (await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })).privateKey
      : createPrivateKey(key)
  if (privateKey.asymmetricKeyType !== 'rsa') throw new TypeError('expected an RSA key')
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const algorithm = sequence(oid('1.2.840.113549.1.1.11'), nothing)
  const name = sequence(setOf(sequence(oid('2.5.4.3'), utf8(NAME))))
  const signed = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    // As unique as the key.
    integer(createHash('sha256').update(spki).digest().subarray(0, 16)),
    algorithm,
    name,
    sequence(utcTime(now - SLACK), utcTime(now + 10 * YEAR)),
    name,
    spki,
    der(0xa3, sequence(...EXTENSIONS)),
  )
  const certificate = sequence(signed, algorithm, bits(sign('sha256', signed, privateKey)))
  return { cert: pem(certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

const LOCALHOST6 = Buffer.from([...Array.from({ length: 15 }, () => 0), 1])
/** Key usage is critical: digital signature and key encipherment, the first and the third bit. */
const EXTENSIONS = [
  sequence(oid('2.5.29.15'), yes, octets(bits(Buffer.from([0b1010_0000]), 5))),
  sequence(oid('2.5.29.37'), octets(sequence(oid('1.3.6.1.5.5.7.3.1')))),
  sequence(
    oid('2.5.29.17'),
    octets(
      sequence(
        der(0x82, Buffer.from('localhost')),
        der(0x87, Buffer.from([127, 0, 0, 1])),
        der(0x87, LOCALHOST6),
      ),
    ),
  ),
]

function pem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

/** What of DER a certificate is made of (X.690): each value is a tag, a length and its contents. */
