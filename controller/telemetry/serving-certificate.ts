import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../../agent/shared/clock.ts'
import { readRegularFile } from '../../agent/shared/regular-file.ts'
import { follow } from '../lib/follow.ts'
import { aborted, type Basics, every, type Task } from '../lib/tasks.ts'
import { createSelfSigned, type KeyPair } from './self-signed.ts'

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
