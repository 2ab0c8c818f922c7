import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/**
 * Opens a regular file for `use`, and closes it. It waits for nobody: what is not a regular file, such as a pipe that nothing
 * writes to, is not read.
 *
 * @param use gets the file's descriptor and its size in bytes, which is 0 for the kernel's files
 * @throws as `node:fs` does, with a `code`; `EISDIR` for a folder, `EFTYPE` for anything else that is not a regular file
 */
export function withRegularFile<T>(path: string, use: (file: number, size: number) => T): T {
  // Opening a FIFO for reading waits for a writer unless told not to.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(file)
    if (found.isDirectory()) throw fileError('EISDIR', path, 'is a folder')
    if (!found.isFile()) throw fileError('EFTYPE', path, 'is not a regular file')
    return use(file, found.size)
  } finally {
    closeSync(file)
  }
}

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

/** An error as `node:fs` throws them. */
function fileError(code: string, path: string, what: string): Error {
  return Object.assign(new Error(`${path} ${what}`), { code })
}
