import type { parse } from 'yaml'

/** Most nested flow collections: a configuration has a few. */
const MAX_OPEN = 64

/**
 * Values of a YAML text. More than a few aliases are refused, as they turn a small text into a large value. Of duplicate keys
 * the last one counts.
 *
 * @param text is not too deep, see {@link refuseDepth}
 * @param parseText of the package, which each program loads in its own time
 * @throws an error of the parser, whose message may quote the text
 */
export function parseBounded(text: string, parseText: typeof parse): unknown {
  // The parser continues after an error and keeps each: without stacks, 32,000 of them have room in the agent's heap.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    // Checking for duplicate keys takes quadratic time; and nobody reads positions of errors.
    return parseText(text, { maxAliasCount: 16, logLevel: 'error', uniqueKeys: false, prettyErrors: false })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/**
 * Refuses texts with too many open brackets: the parser takes some kilobytes for each level.
 *
 * @throws SyntaxError
 */
export function refuseDepth(text: string): void {
  let open = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    if (bracket === '[' || bracket === '{') open++
    else if (open > 0) open--
    if (open > MAX_OPEN) throw new SyntaxError(`more than ${MAX_OPEN} brackets are open`)
  }
}

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
