/**
 * Reads the certificate requests (PKCS#10, RFC 2986) that kubelets write, and no others. What the signer's reader would take
 * and this one does not is a request that no kubelet makes.
 */
import { createPublicKey, verify } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'

/** What a certificate would be made of. */
export interface RequestedCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly dnsNames: readonly string[]
  /** In their usual text form. An IPv6 address stays one, also where an IPv4 address is mapped to it. */
  readonly addresses: readonly string[]
}

/** Characters of base64; a kubelet's request has about 800. */
const MAX_LENGTH = 16_384
/** Values of one kind in a subject, and names in all. */
const MAX_NAMES = 64

const PEM =
  /^-----BEGIN CERTIFICATE REQUEST-----\n((?:[A-Za-z0-9+/]{1,76}={0,2}\n)+)-----END CERTIFICATE REQUEST-----\n?$/

const SEQUENCE = 0x30
const SET = 0x31
const OID = 0x06
const OCTETS = 0x04
const BITS = 0x03
const UTF8 = 0x0c
const PRINTABLE = 0x13
const ATTRIBUTES = 0xa0
const DNS_NAME = 0x82
const ADDRESS = 0x87

/** Encoded whole. */
const VERSION_1 = '020100'
const EXTENSION_REQUEST = '06092a864886f70d01090e'
const SUBJECT_ALT_NAME = '0603551d11'
const COMMON_NAME = '0603550403'
const ORGANIZATION = '060355040a'
/** How a public key on each curve begins: ECDSA, the curve, an uncompressed point. */
const KEYS = [
  // P-256, which kubelets use
  '3059301306072a8648ce3d020106082a8648ce3d03010703420004',
  // P-384
  '3076301006072a8648ce3d020106052b8104002203620004',
]
/** The hash of each way to sign with such a key. */
const SIGNATURES: ReadonlyMap<string, string> = new Map([
  ['300a06082a8648ce3d040302', 'sha256'],
  ['300a06082a8648ce3d040303', 'sha384'],
  ['300a06082a8648ce3d040304', 'sha512'],
])

/** A value with its tag and length, as DER encodes it. */
interface Element {
  readonly tag: number
  /** With tag and length. */
  readonly raw: Buffer
  readonly body: Buffer
}

/** The message says what is wrong, and repeats nothing of the request. */
class UnreadableRequest extends Error {}

/** @param encoded base64 of PEM, as `spec.request` of a CertificateSigningRequest has it */
export function readRequest(encoded: string): Result<RequestedCertificate> {
  try {
    return ok(read(derOf(encoded)))
  } catch (error) {
    if (error instanceof UnreadableRequest) return failed(error.message)
    throw error
  }
}

function derOf(encoded: string): Buffer {
  if (encoded.length > MAX_LENGTH) throw new UnreadableRequest(`has ${encoded.length} characters`)
  const pem = decoded(encoded, 'base64')
  const [, body] = PEM.exec(pem.toString('latin1')) ?? []
  if (body === undefined) throw new UnreadableRequest('is not one PEM block of a certificate request')
  return decoded(body.replaceAll('\n', ''), 'the base64 of PEM')
}

function decoded(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new UnreadableRequest(`is not ${what}`)
  return bytes
}

function read(der: Buffer): RequestedCertificate {
  const [request] = parts(der, 'the request', [SEQUENCE])
  const [info, algorithm, signature] = parts(request.body, 'the request', [SEQUENCE, SEQUENCE, BITS])
  const [version, subject, key, attributes] = parts(info.body, 'the request', [
    0x02,
    SEQUENCE,
    SEQUENCE,
    ATTRIBUTES,
  ])
  if (hex(version) !== VERSION_1) throw new UnreadableRequest('is not of version 1')
  const { commonNames, organizations } = readSubject(subject.body)
  const [commonName] = commonNames
  if (commonName === undefined || commonNames.length !== 1)
    throw new UnreadableRequest(`has ${commonNames.length} common names`)
  const names = readNames(extensionOf(attributes.body))
  checkSignature(info.raw, key, algorithm, signature.body)
  return { commonName, organizations, ...names }
}

function readSubject(body: Buffer) {
  const commonNames: string[] = []
  const organizations: string[] = []
  for (const set of elements(body)) {
    if (set.tag !== SET) throw new UnreadableRequest('has a subject that is not a list of sets')
    // One that has several values for one place in the subject is read in different ways.
    const [pair] = parts(set.body, 'a part of the subject', [SEQUENCE])
    const [type, value] = parts(pair.body, 'a part of the subject', [OID, undefined])
    const list =
      hex(type) === COMMON_NAME ? commonNames : hex(type) === ORGANIZATION ? organizations : undefined
    if (list === undefined) throw new UnreadableRequest('has more in its subject than CN and O')
    if (list.push(textOf(value)) > MAX_NAMES) throw new UnreadableRequest('has too long a subject')
  }
  return { commonNames, organizations }
}

function textOf({ tag, body }: Element): string {
  const text = body.toString('utf8')
  const isText = tag === UTF8 && Buffer.from(text, 'utf8').equals(body)
  if (isText || (tag === PRINTABLE && /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text))) return text
  throw new UnreadableRequest('has a subject that is not text')
}

/** The value of the one extension of the one attribute. */
function extensionOf(body: Buffer): Buffer {
  const what = 'the attributes'
  const [attribute] = parts(body, what, [SEQUENCE])
  const [type, values] = parts(attribute.body, what, [OID, SET])
  if (hex(type) !== EXTENSION_REQUEST) throw new UnreadableRequest('has an attribute other than extensions')
  const [extensions] = parts(values.body, what, [SEQUENCE])
  const [extension] = parts(extensions.body, 'the extensions', [SEQUENCE])
  const [id, value] = parts(extension.body, 'the extensions', [OID, OCTETS])
  if (hex(id) !== SUBJECT_ALT_NAME)
    throw new UnreadableRequest('has an extension other than subject alternative names')
  return value.body
}

function readNames(body: Buffer): Pick<RequestedCertificate, 'dnsNames' | 'addresses'> {
  const [list] = parts(body, 'the names', [SEQUENCE])
  const names = elements(list.body)
  if (names.length === 0 || names.length > MAX_NAMES)
    throw new UnreadableRequest(`has ${names.length} subject alternative names`)
  const dnsNames: string[] = []
  const addresses: string[] = []
  for (const { tag, body } of names) {
    if (tag === DNS_NAME) dnsNames.push(dnsName(body))
    else if (tag === ADDRESS) addresses.push(addressOf(body))
    else throw new UnreadableRequest('has a name that is neither a DNS name nor an IP address')
  }
  return { dnsNames, addresses }
}

function dnsName(body: Buffer): string {
  const text = body.toString('latin1')
  if (!/^[\x21-\x7e]{1,253}$/.test(text)) throw new UnreadableRequest('has a DNS name that is not one')
  return text
}

function addressOf(body: Buffer): string {
  if (body.length !== 4 && body.length !== 16)
    throw new UnreadableRequest(`has an IP address of ${body.length} bytes`)
  return ipaddr.fromByteArray([...body]).toString()
}

/** Whoever asks has the key: otherwise the signer would refuse it, but only once it is approved. */
function checkSignature(info: Buffer, { raw }: Element, algorithm: Element, signature: Buffer): void {
  const hash = SIGNATURES.get(hex(algorithm))
  if (hash === undefined || !KEYS.some((key) => raw.toString('hex').startsWith(key)))
    throw new UnreadableRequest('has a key or a signature of a kind that kubelets do not use')
  let isRight = false
  try {
    const key = createPublicKey({ key: raw, format: 'der', type: 'spki' })
    isRight = signature[0] === 0 && verify(hash, info, key, signature.subarray(1))
  } catch {
    // Such as a point that is not on its curve.
  }
  if (!isRight) throw new UnreadableRequest('is not signed with its own key')
}

function hex({ raw }: Element): string {
  return raw.toString('hex')
}

/** The elements of these tags, and nothing else; undefined is any tag. */
function parts<const T extends readonly (number | undefined)[]>(
  body: Buffer,
  what: string,
  tags: T,
): { readonly [Place in keyof T]: Element } {
  const found = elements(body)
  if (found.length !== tags.length || !tags.every((tag, i) => tag === undefined || found[i]?.tag === tag))
    throw new UnreadableRequest(`has other parts in ${what} than a kubelet writes`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as many as there are tags
  return found as unknown as { readonly [Place in keyof T]: Element }
}

/** All of it, one after the other. */
function elements(bytes: Buffer): readonly Element[] {
  const found: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0
    const { start, length } = lengthAt(bytes, at + 1)
    const end = start + length
    // Tags of several bytes do not occur.
    if ((tag & 0x1f) === 0x1f || end > bytes.length) throw notDER()
    found.push({ tag, raw: bytes.subarray(at, end), body: bytes.subarray(start, end) })
    at = end
  }
  return found
}

/** A length in its shortest form, of at most two bytes. */
function lengthAt(bytes: Buffer, at: number): { readonly start: number; readonly length: number } {
  const [first, high = 0, low = 0] = bytes.subarray(at, at + 3)
  if (first === undefined) throw notDER()
  if (first < 0x80) return { start: at + 1, length: first }
  if (first === 0x81 && high >= 0x80) return { start: at + 2, length: high }
  if (first === 0x82 && high > 0) return { start: at + 3, length: high * 256 + low }
  throw notDER()
}

function notDER(): UnreadableRequest {
  return new UnreadableRequest('is not DER')
}
