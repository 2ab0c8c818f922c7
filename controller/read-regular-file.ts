import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/**
 * Reads a whole file that a person named, for use at start. It waits for nobody: what is no regular file, such as a pipe
 * that nothing writes to, is not read, nor is anything beyond the limit.
 *
 * @throws as `node:fs` does, with a `code`; `EFTYPE` for no regular file, `EFBIG` for one that is too large
 */
export function readRegularFile(path: string, maxBytes: number): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(file)
    if (found.isDirectory()) throw failure('EISDIR', path, 'is a folder')
    if (!found.isFile()) throw failure('EFTYPE', path, 'is not a regular file')
    if (found.size > maxBytes) throw failure('EFBIG', path, `has ${found.size} bytes, more than ${maxBytes}`)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

function failure(code: string, path: string, what: string): Error {
  return Object.assign(new Error(`${path} ${what}`), { code })
}
