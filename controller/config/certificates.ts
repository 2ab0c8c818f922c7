import { X509Certificate } from 'node:crypto'
import { isAbsolute, join } from 'node:path'
import { failed, ok, type Result } from '../../agent/shared/result.ts'
import { type ReadFile, readTextFile } from './read-text.ts'

/** A vCenter has a handful of CA certificates; a system's whole bundle is some 250 kB. */
const MAX_BYTES = 1024 * 1024

/**
 * Reads CA certificates as the CPI does: one path, or several with colons between. A relative path starts at the
 * configuration file's folder, where the Secret or ConfigMap that holds both is mounted.
 *
 * @returns the certificates' PEM text, without anything else from the files
 */
export async function readCertificates(
  paths: string,
  folder: string,
  readFile: ReadFile,
): Promise<Result<string>> {
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
