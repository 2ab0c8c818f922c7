import { X509Certificate } from 'node:crypto'
import { isAbsolute, join } from 'node:path'
import { failed, ok, type Result } from '../../agent/shared/result.ts'
import type { Trust } from './config.ts'
import type { Findings } from './findings.ts'
import type { Given } from './given.ts'
import { type ReadFile, readTextFile } from './read-files.ts'
import { parseThumbprints } from './settings/vcenter.ts'

/** Where files are read, and where findings go. */
export interface ParseOptions {
  /** Where relative paths start. */
  readonly folder: string
  readonly readFile: ReadFile
  /** Whether the folder is there that the CPI reads credentials from by default. */
  readonly defaultFolder: boolean
  readonly findings: Findings
}

/**
 * How a vCenter's certificate is trusted. As in the CPI, a CA takes precedence over a thumbprint; what has no effect draws a
 * warning.
 *
 * @returns undefined where it is wrong; the error is then in the findings
 */
export async function readTrust(
  given: {
    /** The flag that turns every check off. */
    readonly insecureFlag: Given<boolean> | undefined
    readonly caFile: Given<string> | undefined
    readonly thumbprint: Given<string> | undefined
  },
  options: ParseOptions,
): Promise<Trust | undefined> {
  const { insecureFlag, caFile, thumbprint } = given
  const { findings, folder, readFile } = options
  if (insecureFlag !== undefined) {
    findings.warn(insecureFlag.path, insecureFlag.at, NO_TRUST)
    for (const idle of [caFile, thumbprint])
      if (idle !== undefined) findings.warn(idle.path, idle.at, IDLE_TRUST)
    return { kind: 'insecure' }
  }
  const thumbprints = thumbprint && parseThumbprints(thumbprint.value)
  if (thumbprint !== undefined && thumbprints?.ok === false) refuse(thumbprint, thumbprints.message, findings)
  if (caFile !== undefined) {
    if (thumbprint !== undefined) findings.warn(thumbprint.path, thumbprint.at, IDLE_THUMBPRINT)
    const pem = await readCertificates(caFile.value, folder, readFile)
    if (pem.ok) return { kind: 'ca', pem: pem.value }
    refuse(caFile, pem.message, findings)
    return undefined
  }
  if (thumbprints === undefined) return { kind: 'system' }
  return thumbprints.ok ? { kind: 'thumbprint', thumbprints: thumbprints.value } : undefined
}

/** A setting under `global` is read for each vCenter, and reported once. */
function refuse({ path, at }: Given<string>, message: string, findings: Findings): void {
  if (!findings.refused(path)) findings.refuse(path, at, message)
}

const NO_TRUST =
  "no certificate is checked, so anyone in between gets the password: configure vCenter's thumbprint, or its CA as caFile, instead"
const IDLE_TRUST = 'has no effect because insecureFlag turns every check off: remove insecureFlag to use this'
const IDLE_THUMBPRINT =
  'has no effect beside caFile, which alone counts in Rollcall (the CPI accepts either): remove caFile to use this'

/** A vCenter has a handful of CA certificates; a system's whole bundle is some 250 kB. */
const MAX_BYTES = 1024 * 1024

/**
 * Reads CA certificates as the CPI does: one path, or several with colons between. A relative path starts at the
 * configuration file's folder, where the Secret or ConfigMap that holds both is mounted.
 *
 * @returns the certificates' PEM text, without anything else from the files
 */
async function readCertificates(paths: string, folder: string, readFile: ReadFile): Promise<Result<string>> {
  if (paths.includes('-----BEGIN')) {
    return failed('expected a path, got PEM text: put it into a file and write its path here')
  }
  const blocks: string[] = []
  for (const path of paths.split(':').filter((part) => part !== '')) {
    const file = isAbsolute(path) ? path : join(folder, path)
    const read = await readTextFile(file, readFile, MAX_BYTES)
    if (!read.ok) return failed(`${file} ${read.message}`)
    const found = parseCertificates(read.value, ", as in vCenter's /certs/download.zip")
    if (!found.ok) return failed(`${file} ${found.message}`)
    blocks.push(...found.value)
  }
  return ok(blocks.join('\n'))
}

/**
 * Finds the certificates in a text, each as PEM.
 *
 * @param source where to get them, for the message
 * @returns at least one; an error says what is there instead, without repeating it
 */
export function parseCertificates(text: string, source = ''): Result<readonly string[]> {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) {
    const found = text.includes('PRIVATE KEY-----') ? 'a private key' : `${text.length} characters`
    return failed(
      `contains ${found} instead of a PEM certificate: expected "-----BEGIN CERTIFICATE-----"${source}`,
    )
  }
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block)
    } catch {
      // OpenSSL's reason ("asn1 encoding routines::...") does not say more.
      const which = blocks.length === 1 ? 'a certificate' : `certificate ${index + 1} of ${blocks.length}`
      return failed(`contains ${which} that cannot be read: copy it from its source again`)
    }
  }
  return ok(blocks)
}
