import { readCertificates } from './certificates.ts'
import type { Trust } from './config.ts'
import type { Findings } from './findings.ts'
import type { Given } from './read-section.ts'
import type { ReadFile } from './read-text.ts'
import { parseThumbprints } from './values.ts'

export interface GivenTrust {
  /** The flag that turns every check off. */
  readonly insecureFlag: Given<boolean> | undefined
  readonly caFile: Given<string> | undefined
  readonly thumbprint: Given<string> | undefined
}

/** Where CA files are read, and where findings about them go. */
export interface ParseOptions {
  /** Where relative paths start. */
  readonly folder: string
  readonly readFile: ReadFile
  readonly findings: Findings
}

/**
 * How a vCenter's certificate is trusted. As in the CPI, a CA takes precedence over a thumbprint; what has no effect draws a
 * warning.
 *
 * @returns undefined where it is wrong; the error is then in the findings
 */
export async function readTrust(given: GivenTrust, options: ParseOptions): Promise<Trust | undefined> {
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
