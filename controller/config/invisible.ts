/** What looks like a space or like nothing to a person, and is neither to YAML nor to INI. */
const INVISIBLE = /[\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]/u

const SPACES: ReadonlyMap<string, string> = new Map([
  [' ', 'a space'],
  ['\t', 'a tab'],
  ['\n', 'a newline'],
  ['\r', 'a carriage return'],
])

/** What white space or invisible character a text ends or begins with, in words; undefined where there is none. */
export function edgeOf(text: string): string | undefined {
  for (const character of [text.slice(-1), text.slice(0, 1)]) {
    const edge = SPACES.get(character) ?? invisibleIn(character)
    if (edge !== undefined) return edge
  }
  return undefined
}

/** The first such character in words; undefined where there is none. */
export function invisibleIn(text: string): string | undefined {
  const code = INVISIBLE.exec(text)?.[0].codePointAt(0)
  if (code === undefined) return undefined
  const name = code === 0xa0 ? 'a no-break space' : 'an invisible character'
  return `${name} (U+${code.toString(16).toUpperCase().padStart(4, '0')})`
}
