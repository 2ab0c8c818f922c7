/** Replaces an illegal character. */
const REPLACEMENT = '\uFFFD'
/** Characters illegal in XML 1.0, even as a reference. The decoder has already replaced lone surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ILLEGAL = /[\x00-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]/g
const REFERENCE = /&#(?:x([\dA-Fa-f]{1,32})|(\d{1,32}));/g
/** The beginning of a numeric reference. */
const BEGUN = /&(?:#(?:x[\dA-Fa-f]{0,32}|\d{0,32}))?$/

/**
 * Decodes UTF-8. Invalid bytes, and characters illegal in XML 1.0, literal or as a numeric reference, become U+FFFD: vCenter
 * passes on what guests write, and one guest's text must not spoil the answers about all others.
 */
export function createCharacterReader() {
  const decoder = new TextDecoder('utf-8')
  let held = ''
  const replace = (text: string) =>
    text
      .replace(ILLEGAL, REPLACEMENT)
      .replace(REFERENCE, (written, hexadecimal: string | undefined, decimal: string | undefined) => {
        const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16)
        return isLegal(code) ? written : REPLACEMENT
      })
  return {
    /** The decoded text; the beginning of a numeric reference is kept for the next call. */
    read(chunk: Uint8Array): string {
      const text = held + decoder.decode(chunk, { stream: true })
      held = BEGUN.exec(text.slice(-40))?.[0] ?? ''
      return replace(held === '' ? text : text.slice(0, -held.length))
    },
    /** The remaining text. */
    end: (): string => replace(held + decoder.decode()),
  }
}

function isLegal(code: number): boolean {
  if (code < 0x20) return code === 0x9 || code === 0xa || code === 0xd
  return code < 0xd800 || (code > 0xdfff && code < 0xfffe) || (code > 0xffff && code <= 0x10ffff)
}
