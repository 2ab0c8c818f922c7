import { createPrivateKey, createPublicKey, generateKeyPair, hash, sign } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { promisify } from 'node:util'
import type { Clock } from '../../agent/shared/clock.ts'
import { readRegularFile } from '../../agent/shared/regular-file.ts'
import { aborted, type Basics, every, follow, type Task } from '../lib/tasks.ts'

/** Where the certificate of the secure port comes from. */
export type CertificateSource =
  /** PEM files, read again when they change. */
  | { readonly kind: 'files'; readonly certFile: string; readonly keyFile: string }
  /** A folder in which a pair is looked for by its usual names, and written where there is none. */
  | { readonly kind: 'folder'; readonly folder: string }
  /** Made at the start, in memory alone. */
  | { readonly kind: 'memory' }

const MAX_BYTES = 256 * 1024
/** Milliseconds between two looks. */
const INTERVAL = 60_000
/** The CPI's own names for it. */
const [CERT, KEY] = ['cloud-controller-manager.crt', 'cloud-controller-manager.key']

/**
 * Reads the certificate, or makes one. The watch looks for changed files, and reports each new pair, until the signal aborts.
 *
 * @throws Error that names the files and the next step, and nothing of what they hold
 */
export async function loadServingCertificate(
  source: CertificateSource,
  { clock, random, logger }: Basics,
): Promise<{ readonly pair: KeyPair; watch(onChange: (pair: KeyPair) => void): Task }> {
  const files = await filesOf(source, clock)
  if (files === undefined) {
    return { pair: await createSelfSigned(clock.now()), watch: () => aborted }
  }
  const pair = read(files)
  const watch = (onChange: (pair: KeyPair) => void) =>
    follow(pair, {
      look: () => read(files),
      same: (a, b) => a.cert === b.cert && a.key === b.key,
      onChange(found) {
        onChange(found)
        logger.info({ file: files.certFile }, 'certificate of the secure port loaded')
        return found
      },
      onFailing: (cause) =>
        logger.warn(
          { cause },
          'cannot read the certificate of the secure port again; the previous one stays in use',
        ),
    })
  return { pair, watch: (onChange) => every(INTERVAL, watch(onChange), clock, random) }
}

type Files = Pick<CertificateSource & { kind: 'files' }, 'certFile' | 'keyFile'>

/** The files to read; those of a folder are there then. Undefined where there are none. */
async function filesOf(source: CertificateSource, clock: Clock): Promise<Files | undefined> {
  if (source.kind === 'memory') return undefined
  if (source.kind === 'files') return source
  const files = { certFile: join(source.folder, CERT), keyFile: join(source.folder, KEY) }
  if (existsSync(files.certFile)) return files
  try {
    mkdirSync(source.folder, { recursive: true })
    // The certificate comes last, so a key alone is what a process left that died in between. It is kept.
    const left = existsSync(files.keyFile)
    const key = left ? readRegularFile(files.keyFile, MAX_BYTES).toString('utf8') : undefined
    const made = await createSelfSigned(clock.now(), key)
    if (!left) place(files.keyFile, made.key, 0o600)
    place(files.certFile, made.cert, 0o644)
  } catch (cause) {
    throw new Error(
      `--cert-dir ${source.folder}: cannot write ${CERT} and ${KEY} there: name a folder that this user may write, with both, neither, or an RSA key alone, or leave it out`,
      { cause },
    )
  }
  return files
}

/** Writes a file, whole or not at all. */
function place(path: string, text: string, mode: number): void {
  const unfinished = `${path}.new`
  rmSync(unfinished, { force: true })
  writeFileSync(unfinished, text, { mode, flag: 'wx' })
  renameSync(unfinished, path)
}

function read({ certFile, keyFile }: Files): KeyPair {
  const text = (path: string): string => {
    try {
      return readRegularFile(path, MAX_BYTES).toString('utf8')
    } catch (cause) {
      throw new Error(`cannot read ${path}: check that the file is there and that this user may read it`, {
        cause,
      })
    }
  }
  const pair = { cert: text(certFile), key: text(keyFile) }
  try {
    createSecureContext(pair)
  } catch {
    // Its message is OpenSSL's and helps nobody.
    throw new Error(
      `${certFile} and ${keyFile} are not a certificate and its key in PEM: check that they belong together`,
    )
  }
  return pair
}

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
    integer(hash('sha256', spki, 'buffer').subarray(0, 16)),
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
