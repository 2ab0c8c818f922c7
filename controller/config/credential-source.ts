/** Where a vCenter's user and password are to be found: in the file, in a Secret, or in a folder. */
import { resolve } from 'node:path'
import type { VCenterCredentials } from './config.ts'
import type { Findings } from './findings.ts'
import type { GivenVCenter, Sections } from './given.ts'
import type { ParseOptions } from './read-trust.ts'

/** The folder that the CPI reads by default. */
export const DEFAULT_FOLDER = '/etc/cloud/secrets'

/** The source under `global`, for all vCenters: a Secret or a folder. If both are given, neither counts, as in the CPI. */
export function commonSource(
  global: Sections['global'],
  { folder, findings }: ParseOptions,
): VCenterCredentials | undefined {
  const { secretName, secretNamespace, secretsDirectory } = global
  if (secretsDirectory === undefined) return secretOf(global, findings)
  const other = secretName ?? secretNamespace
  if (other === undefined) return { kind: 'directory', path: resolve(folder, secretsDirectory.value) }
  const message = `has no effect together with ${other.path}, and neither has that, because nothing says which of the two counts: keep one`
  findings.warn(secretsDirectory.path, secretsDirectory.at, message)
  return undefined
}

/**
 * As in the CPI: a vCenter's own Secret, or else the source for all, or else the file itself. If the file lacks the user or the
 * password, the CPI's folder is used if it exists.
 */
export function sourceOf(
  { given, path, at }: GivenVCenter,
  global: Sections['global'],
  common: VCenterCredentials | undefined,
  { defaultFolder, findings }: ParseOptions,
): VCenterCredentials | undefined {
  const source = (given === global ? undefined : secretOf(given, findings)) ?? common
  if (source !== undefined || !defaultFolder) return source
  const complete = [given.user ?? global.user, given.password ?? global.password].every(Boolean)
  if (complete) return undefined
  findings.warn(
    path,
    at,
    `has no user and password, so they are read from ${DEFAULT_FOLDER}, which exists: write "secretsDirectory: ${DEFAULT_FOLDER}" under "global" if you want that`,
  )
  return { kind: 'directory', path: DEFAULT_FOLDER }
}

/** Half of a Secret's name counts as none, as in the CPI. */
function secretOf(
  { secretName, secretNamespace }: GivenVCenter['given'],
  findings: Findings,
): VCenterCredentials | undefined {
  if (secretName !== undefined && secretNamespace !== undefined)
    return { kind: 'secret', namespace: secretNamespace.value, name: secretName.value }
  const half = secretName ?? secretNamespace
  const missing = secretName === undefined ? 'secretName' : 'secretNamespace'
  if (half !== undefined) findings.warn(half.path, half.at, `has no effect without ${missing}: write both`)
  return undefined
}

/** The source in words, for messages: `the Secret kube-system/vsphere`, `the folder /etc/cloud/secrets`. */
export function describeSource(source: VCenterCredentials): string {
  return source.kind === 'secret'
    ? `the Secret ${source.namespace}/${source.name}`
    : `the folder ${source.path}`
}
