import { createHash, createPrivateKey, createPublicKey, generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { bits, der, integer, nothing, octets, oid, sequence, setOf, utcTime, utf8, yes } from './der.ts'

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
 * Makes a certificate that nobody has vouched for, for a server on this machine: `localhost`, 127.0.0.1 and ::1, as that of
 * the CPI. It holds for ten years, longer than any process, since nobody would renew it. RSA, because a list of cipher suites
 * may have no others.
 *
 * Its own few lines of DER (RFC 5280) instead of a library: node:crypto signs but writes no certificates, and what would be
 * pulled in for that is more code than the rest of the program's TLS, in a process that holds vCenter's password.
 *
 * @param now milliseconds since the epoch
 * @param key in PEM, RSA; a new one by default
 * @throws where that is no such key
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
