import { generateKeyPairSync, type KeyPairKeyObjectResult, sign } from 'node:crypto'
import ipaddr from 'ipaddr.js'

/** A value in DER. */
export function der(tag: number, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const { length } = body
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const CN = oid('550403')
const O = oid('55040a')
const EXTENSION_REQUEST = oid('2a864886f70d01090e')
const SUBJECT_ALT_NAME = oid('551d11')
const ECDSA_SHA256 = der(0x30, oid('2a8648ce3d040302'))
const PKCS1_SHA256 = der(0x30, oid('2a864886f70d01010b'), der(0x05))

const attribute = (type: Buffer, text: string, tag = 0x13) => der(0x30, type, der(tag, text))
export const commonName = (text: string, tag?: number) => der(0x31, attribute(CN, text, tag))
export const organization = (text: string, tag?: number) => der(0x31, attribute(O, text, tag))
/** Two values in one place of the subject. */
export const organizations = (...texts: readonly string[]) =>
  der(0x31, ...texts.map((text) => attribute(O, text)))
export const country = (text: string) => der(0x31, attribute(oid('550406'), text))

export const dns = (name: string) => der(0x82, name)
export const ip = (address: string) => der(0x87, Buffer.from(ipaddr.parse(address).toByteArray()))
export const email = (address: string) => der(0x81, address)
export const uri = (text: string) => der(0x86, text)

export const alternativeNames = (...names: readonly Buffer[]) =>
  der(0x30, SUBJECT_ALT_NAME, der(0x04, der(0x30, ...names)))
export const extension = (hex: string, value: Buffer) => der(0x30, oid(hex), der(0x04, value))
export const extensionRequest = (...extensions: readonly Buffer[]) =>
  der(0x30, EXTENSION_REQUEST, der(0x31, der(0x30, ...extensions)))
export const challengePassword = () => attributeOf('2a864886f70d010907', der(0x0c, 'secret'))
export const attributeOf = (hex: string, ...values: readonly Buffer[]) =>
  der(0x30, oid(hex), der(0x31, ...values))

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve })
/** Drawn once: what is tested is rarely the key. */
const KEY = ec('P-256')
export const OTHER_KEY = ec('P-256')
export const P384_KEY = ec('P-384')
export const rsaKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 })

/** What a request is made of; by default that of the kubelet of worker-1. */
export interface RequestParts {
  readonly version?: Buffer
  readonly subject?: readonly Buffer[]
  readonly names?: readonly Buffer[]
  /** Instead of the names. */
  readonly attributes?: readonly Buffer[]
  readonly key?: KeyPairKeyObjectResult
  readonly signedWith?: KeyPairKeyObjectResult
  /** Changes what is signed. */
  readonly mutate?: (info: Buffer) => Buffer
}

export const subjectOf = (user: string) => [organization('system:nodes'), commonName(user)]

/** A request in DER, signed. */
export function requestDER({
  version = der(0x02, Buffer.from([0])),
  subject = subjectOf('system:node:worker-1'),
  names = [dns('worker-1'), ip('10.0.0.5')],
  attributes = [extensionRequest(alternativeNames(...names))],
  key = KEY,
  signedWith = key,
  mutate = (info) => info,
}: RequestParts = {}): Buffer {
  const spki = key.publicKey.export({ type: 'spki', format: 'der' })
  const info = mutate(der(0x30, version, der(0x30, ...subject), spki, der(0xa0, ...attributes)))
  const signature = sign('sha256', info, signedWith.privateKey)
  const algorithm = signedWith.privateKey.asymmetricKeyType === 'rsa' ? PKCS1_SHA256 : ECDSA_SHA256
  return der(0x30, info, algorithm, der(0x03, Buffer.from([0]), signature))
}

export function pem(bytes: Uint8Array, label = 'CERTIFICATE REQUEST'): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

/** As `spec.request` has it. */
export function encoded(text: string): string {
  return Buffer.from(text).toString('base64')
}

export function makeRequest(parts?: RequestParts): string {
  return encoded(pem(requestDER(parts)))
}
