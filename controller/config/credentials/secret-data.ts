/** What a Secret or a folder holds, as far as a credential may be in it. */
import { Secret } from '../secret.ts'

/**
 * The values by their keys, or the names of files. Undefined for what no credential can be: under a key that says nothing of
 * one, not UTF-8, or too long. Only its key is kept.
 */
export type SecretData = ReadonlyMap<string, Secret | undefined>

/** What became of reading a source. */
export type SourceState =
  | { readonly state: 'pending' }
  /** Worded to follow what the source is called. */
  | { readonly state: 'failed'; readonly message: string }
  | { readonly state: 'read'; readonly data: SecretData }

/** Longest value that is read, bytes: a certificate has a tenth of it. */
export const MAX_VALUE = 64 * 1024

const OF_INTEREST = /\.(username|password|vc-session-manager-(url|token))$|^(server|username|password)_/i

/** Whether a key may say anything of a credential. */
export function isOfInterest(key: string): boolean {
  return OF_INTEREST.test(key)
}

/** The value of a key that {@link isOfInterest}. */
export function readValue(bytes: Uint8Array): Secret | undefined {
  if (bytes.byteLength > MAX_VALUE) return undefined
  try {
    return new Secret(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}
