/** Flow collections that may stand open at once: a configuration has a few. */
const MAX_OPEN = 64

/**
 * Values of a YAML or JSON text. The parser takes 2 MB of memory, so it is loaded for the first text that is not JSON.
 * Aliases are refused beyond a few: they are how a small text becomes a large value. So are texts with too many open
 * brackets: the parser takes some kilobytes for each level. Of a key that stands twice the last counts.
 *
 * @throws an error of the parser's, whose message may quote the text, and SyntaxError for what is nested too deeply
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
  // The parser goes on after an error and keeps each: without stacks, 32,000 of them have room in the agent's heap.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    // Looking for equal keys takes time by the square of their number; nobody reads where an error is.
    return parse(text, { maxAliasCount: 16, logLevel: 'error', uniqueKeys: false, prettyErrors: false })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function refuseDepth(text: string): void {
  let open = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    if (bracket === '[' || bracket === '{') open++
    else if (open > 0) open--
    if (open > MAX_OPEN) throw new SyntaxError(`more than ${MAX_OPEN} brackets stand open`)
  }
}
