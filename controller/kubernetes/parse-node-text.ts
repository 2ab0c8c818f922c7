/** Longer than any word or time that is meant. */
const MAX_LENGTH = 40

/**
 * The first characters of a text that a node may make as long as an object may be. A copy: a mere slice would keep the
 * whole text in memory.
 */
export function shortText(text: string): string {
  return text.length <= MAX_LENGTH ? text : Buffer.from(text.slice(0, MAX_LENGTH)).toString()
}
