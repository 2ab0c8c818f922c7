/** What looks like a space or like nothing to a person, and is neither to YAML nor to INI. */
const INVISIBLE = /[\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]/u

/** The first such character in words; undefined where there is none. */
export function invisibleIn(text: string): string | undefined {
  const code = INVISIBLE.exec(text)?.[0].codePointAt(0)
  if (code === undefined) return undefined
  const name = code === 0xa0 ? 'a no-break space' : 'an invisible character'
  return `${name} (U+${code.toString(16).toUpperCase().padStart(4, '0')})`
}
