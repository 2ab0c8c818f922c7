/** Decompresses answers. vCenter's XML shrinks to a twentieth. */
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { VCenterError } from './errors.ts'

/** The only encoding requested and supported. */
export const ACCEPT_ENCODING = 'gzip'

/**
 * The body of an answer with this `content-encoding`, inflated as it is read: limits on the size of an answer apply to the
 * inflated bytes, and nothing is inflated beyond them. Destroying `body` ends both. Throws a VCenterError for another
 * encoding and, while reading, for invalid gzip.
 */
export function inflate(server: string, body: Readable, encoding: string): AsyncIterable<Uint8Array> {
  if (encoding === '' || encoding === 'identity') return body
  if (encoding !== ACCEPT_ENCODING) {
    throw malformed(server, `has the encoding ${encoding.slice(0, 50)}, which was not asked for`)
  }
  const inflated = createGunzip()
  // The reader gets the error.
  pipeline(body, inflated, () => undefined)
  return readable(server, inflated)
}

async function* readable(server: string, inflated: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* inflated
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw code.startsWith('Z_') ? malformed(server, `cannot be inflated (${code})`, error) : error
  }
}

function malformed(server: string, what: string, cause?: unknown): VCenterError {
  return new VCenterError(
    'MalformedAnswer',
    `the answer of ${server} ${what}; check for a proxy in between`,
    {
      cause,
    },
  )
}
