import { createPrivateKey, generateKeyPairSync, type webcrypto } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
// The certificate library looks its parts up by decorators and leaves it to us to bring what they need.
import 'reflect-metadata'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const day = 24 * 60 * 60 * 1000

/** Who a client certificate speaks for: the common name is the user, each organization a group. */
export interface CertificateIdentity {
  user: string
  groups?: string[]
}

/** Paths of PEM files. */
export interface CertificateFiles {
  certificateFile: string
  keyFile: string
}

export interface CertificateAuthority {
  caFile: string
  /** With it another process can sign, too: {@link openCertificateAuthority}. */
  caKeyFile: string
  /** A serving certificate for 127.0.0.1 and localhost, and `names` besides, of which some may be IP addresses. */
  serving(name: string, names?: string[]): Promise<CertificateFiles>
  client(identity: CertificateIdentity, validFor?: number): Promise<CertificateFiles>
  /** An authority that this one has signed, whose files lie in `dir`; its certificates come without it. */
  intermediate(dir: string): Promise<CertificateAuthority>
}

/** Creates a certificate authority whose files, and those of the certificates it signs, lie in `dir`. */
export async function createCertificateAuthority(dir: string): Promise<CertificateAuthority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const ca = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=test-ca',
    keys,
    signingAlgorithm: algorithm,
    ...validity(),
    extensions: await authorityExtensions(keys.publicKey),
  })
  return writeAuthority(dir, ca, keys.privateKey)
}

async function authorityExtensions(publicKey: webcrypto.CryptoKey) {
  return [
    new BasicConstraintsExtension(true, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    await SubjectKeyIdentifierExtension.create(publicKey),
  ]
}

async function writeAuthority(
  dir: string,
  ca: X509Certificate,
  key: webcrypto.CryptoKey,
): Promise<CertificateAuthority> {
  const files = { caFile: join(dir, 'ca.crt'), caKeyFile: join(dir, 'ca.key') }
  await writeFile(files.caFile, ca.toString('pem'))
  await writeFile(files.caKeyFile, await privatePem(key), { mode: 0o600 })
  return authority(files, dir, ca, key)
}

/** Opens an authority that exists already; the files of the certificates that it signs from here on lie in `dir`. */
export async function openCertificateAuthority(
  files: Pick<CertificateAuthority, 'caFile' | 'caKeyFile'>,
  dir: string,
): Promise<CertificateAuthority> {
  const ca = new X509Certificate(await readFile(files.caFile, 'utf8'))
  const key = createPrivateKey(await readFile(files.caKeyFile, 'utf8'))
  const der = key.export({ format: 'der', type: 'pkcs8' })
  return authority(files, dir, ca, await crypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']))
}

function authority(
  files: Pick<CertificateAuthority, 'caFile' | 'caKeyFile'>,
  dir: string,
  ca: X509Certificate,
  key: webcrypto.CryptoKey,
): CertificateAuthority {
  const sign = signer(dir, ca, key)
  let issued = 0
  return {
    ...files,
    serving: (name, names = []) =>
      sign(name, [{ CN: [name] }], ExtendedKeyUsage.serverAuth, {
        names: [
          { type: 'ip', value: '127.0.0.1' },
          { type: 'dns', value: 'localhost' },
          ...names.map((value) => ({ type: isIP(value) ? ('ip' as const) : ('dns' as const), value })),
        ],
      }),
    client: ({ user, groups = [] }, validFor) => {
      issued += 1
      const subject = [{ CN: [user] }, ...groups.map((group) => ({ O: [group] }))]
      return sign(`client-${issued}`, subject, ExtendedKeyUsage.clientAuth, validFor ? { validFor } : {})
    },
    async intermediate(below) {
      const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
      const signed = await X509CertificateGenerator.create({
        subject: 'CN=test-intermediate-ca',
        issuer: ca.subject,
        publicKey: keys.publicKey,
        signingKey: key,
        signingAlgorithm: algorithm,
        ...validity(),
        extensions: [
          ...(await authorityExtensions(keys.publicKey)),
          await AuthorityKeyIdentifierExtension.create(ca.publicKey),
        ],
      })
      return writeAuthority(below, signed, keys.privateKey)
    },
  }
}

interface SigningOptions {
  names?: ConstructorParameters<typeof SubjectAlternativeNameExtension>[0]
  validFor?: number
}

function signer(dir: string, ca: X509Certificate, signingKey: webcrypto.CryptoKey) {
  return async (
    file: string,
    subject: { [key: string]: string[] }[],
    usage: string,
    { names, validFor }: SigningOptions,
  ): Promise<CertificateFiles> => {
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const certificate = await X509CertificateGenerator.create({
      subject,
      issuer: ca.subject,
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: algorithm,
      ...validity(validFor),
      extensions: [
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usage]),
        // Tells two authorities of one name apart.
        await AuthorityKeyIdentifierExtension.create(ca.publicKey),
        ...(names ? [new SubjectAlternativeNameExtension(names)] : []),
      ],
    })
    const files = { certificateFile: join(dir, `${file}.crt`), keyFile: join(dir, `${file}.key`) }
    await writeFile(files.certificateFile, certificate.toString('pem'))
    await writeFile(files.keyFile, await privatePem(keys.privateKey), { mode: 0o600 })
    return files
  }
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', key)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`
}

/** Starts a little early, since clocks are compared in whole seconds. */
function validity(validFor = 7 * day): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + validFor) }
}

/** Paths of PEM files. */
export interface ServiceAccountKeys {
  publicFile: string
  privateFile: string
}

/** Writes the key pair with which the API server signs and checks service account tokens. */
export async function writeServiceAccountKeys(dir: string): Promise<ServiceAccountKeys> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  })
  const files = { publicFile: join(dir, 'sa.pub'), privateFile: join(dir, 'sa.key') }
  await writeFile(files.publicFile, publicKey)
  await writeFile(files.privateFile, privateKey, { mode: 0o600 })
  return files
}
