/** How times, identifiers, words and addresses are written, so that what replaces them is written in the same way. */

/** The same moment for each, in UTC. */
export function timeLike(text: string): string {
  const [, fraction = '', zone = ''] = /^.{19}(\.\d+)?(.*)$/.exec(text) ?? []
  return `2000-01-01T00:00:00${fraction.replace(/\d/g, '0')}${zone.replace(/^[+-]\d\d/, '+00').replace(/:\d\d$/, ':00')}`
}

/** A UUID of its digits alone. */
export const dashed = (digits: string) =>
  digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
/** The digits of a UUID. */
export const undashed = (uuid: string) => uuid.replaceAll('-', '')

/** Digits in the place of those of a text, whose separators and upper case stay. */
export function inLayout(text: string, digits: string): string {
  let next = 0
  const drawn = text.replace(/[0-9a-f]/gi, () => digits[next++] ?? '0')
  return likeCase(text, drawn)
}

/** Whether it has letters, and all are in upper case. */
export const isUpper = (text: string) => text !== text.toLowerCase() && text === text.toUpperCase()

/** Letters in upper case where the other text has them, in upper case throughout where it has no others. */
export function likeCase(text: string, drawn: string): string {
  if (isUpper(text)) return drawn.toUpperCase()
  return Array.from(drawn, (character, index) => {
    const original = text[index] ?? ''
    return original !== original.toLowerCase() ? character.toUpperCase() : character
  }).join('')
}

/** The MAC that the last four groups of an address are made of; undefined where they are not made of one. */
export function macOf(values: readonly number[]): string | undefined {
  const [e = 0, f = 0, g = 0, h = 0] = values.slice(4)
  if ((f & 0xff) !== 0xff || g >> 8 !== 0xfe) return undefined
  const bytes = [(e >> 8) ^ 2, e & 0xff, f >> 8, g & 0xff, h >> 8, h & 0xff]
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The last four groups of an address that are made of this MAC. */
export function groupsOf(mac: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = (mac.match(/../g) ?? []).map((byte) =>
    Number.parseInt(byte, 16),
  )
  return [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f].map((group) => group.toString(16))
}
