import { statSync } from 'node:fs'

/**
 * A text that changes when the file is replaced or touched; it is not opened, and may be of any kind. Empty where it is
 * not there or may not be seen.
 */
export function fileSign(path: string): string {
  try {
    const { ino, ctimeMs } = statSync(path)
    return `${ino} ${ctimeMs}`
  } catch {
    // A sign that is not there is one that never changes: the refresh does without.
    return ''
  }
}
