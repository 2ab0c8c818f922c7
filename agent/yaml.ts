/**
 * Values of a YAML or JSON text. The parser takes 2 MB of memory, so it is loaded for the first text that is not JSON.
 * Aliases are refused beyond a few: they are how a small text becomes a large value.
 *
 * @throws an error of the parser's, whose message may quote the text
 */
export async function parseYAML(text: string): Promise<unknown> {
  if (/^\s*\{/.test(text)) {
    try {
      return JSON.parse(text)
    } catch {
      // YAML has braces too.
    }
  }
  const { parse } = await import('yaml')
  return parse(text, { maxAliasCount: 16, logLevel: 'error' })
}
