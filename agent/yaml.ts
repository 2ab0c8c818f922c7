import { parseBounded, refuseDepth } from './shared/yaml.ts'

/**
 * Values of a YAML or JSON text, within bounds: see `parseBounded`. The parser takes 2 MB of memory, so it is loaded for the
 * first text that is not JSON.
 *
 * @throws an error of the parser, whose message may quote the text, and SyntaxError for too deep nesting
 */
export async function parseYAML(text: string): Promise<unknown> {
  refuseDepth(text)
  if (/^\s*\{/.test(text)) {
    try {
      return JSON.parse(text)
    } catch {
      // YAML has braces too.
    }
  }
  const { parse } = await import('yaml')
  return parseBounded(text, parse)
}
