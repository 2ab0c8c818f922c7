/** What a terminal would act on rather than show: control, format and line-separating characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Makes text safe for terminals and the API server: conditions and Events quote strangers' names, which must not be able to
 * control a terminal. At most `max` UTF-16 units, never half a character.
 */
export function printable(text: string, max: number): string {
  const clean = text.replace(UNPRINTABLE, '\u{fffd}')
  if (clean.length <= max) return clean
  const cut = clean.slice(0, max - 3)
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}...`
}
