/** Longer than any expected word or time. */
const MAX_LENGTH = 40

/**
 * The first characters of a text, which a node may make as long as it likes. It is a copy, because a slice would keep the
 * whole text in memory.
 */
export function shortText(text: string): string {
  return text.length <= MAX_LENGTH ? text : Buffer.from(text.slice(0, MAX_LENGTH)).toString()
}
