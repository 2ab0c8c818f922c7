import { statSync } from 'node:fs'

/**
 * A text that changes when the file is replaced or touched; it is not opened, and may be of any kind. Empty where it is
 * not there or may not be seen.
 */
export function fileFingerprint(path: string): string {
  try {
    const { ino, ctimeMs } = statSync(path)
    return `${ino} ${ctimeMs}`
  } catch {
    // An empty text never changes, so the agent finds out at its next refresh.
    return ''
  }
}
