import { readFileSync } from 'node:fs'
import { fileError, withRegularFile } from '../../agent/shared/regular-file.ts'

/**
 * Reads a whole file that a person named, for use at start: nothing but a regular file, and nothing beyond the limit.
 *
 * @throws as {@link withRegularFile} does; `EFBIG` for a file that is too large
 */
export function readRegularFile(path: string, maxBytes: number): Buffer {
  return withRegularFile(path, (file, size) => {
    if (size > maxBytes) throw fileError('EFBIG', path, `has ${size} bytes, more than ${maxBytes}`)
    return readFileSync(file)
  })
}
