import { type ErrorCode, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import type { Findings, SourcePosition } from './findings.ts'
import type { ConfigTree, Entry } from './tree.ts'

/**
 * Parses YAML into a tree of text. Numbers and booleans stay as written, because a password may consist of digits.
 *
 * The parser's own messages quote the file, passwords included, so every message here is our own.
 *
 * @returns undefined where it is not YAML or empty; where a value is wrong, the tree without it. What is wrong is in `findings`
 */
export function readYAML(text: string, findings: Findings): ConfigTree | undefined {
  const lines = new LineCounter()
  // A lone carriage return ends a line too, which the parser does not know.
  const document = parseDocument(text.replaceAll(/\r(?!\n)/g, '\n'), {
    lineCounter: lines,
    // Pretty errors would quote the line.
    prettyErrors: false,
    // Every scalar is a string. Readers of the tree compare keys themselves, since they may be spelled in several ways.
    schema: 'failsafe',
    uniqueKeys: false,
  })
  const place = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const told = new Set<number>()
  // Where a tab is taken for no indentation, the lines below it seem to be wrong too. In JSON tabs are as good as blanks.
  const tabs = isJSON(text) ? [] : document.errors.filter(({ code }) => code === 'TAB_AS_INDENT')
  for (const { code, pos } of tabs.length > 0 ? tabs : document.errors) {
    const at = place(pos[0])
    if (told.has(at.line)) continue
    told.add(at.line)
    findings.refuse('', at, whyRefused(code, text))
    if (!OF_ITS_LINE.has(code)) break
  }
  const broken = document.errors.some(({ code }) => !OF_ITS_VALUE.has(code))
  if (broken || document.errors.length > MANY) return undefined
  for (const warning of document.warnings) findings.refuse('', place(warning.pos[0]), TAGGED)
  if (document.contents === null) return undefined
  const wrong = document.errors.map(({ pos }) => pos[0])
  const tree = treeBuilder(findings, place, wrong)(document.contents, { line: 1, column: 1 })
  return tree.kind === 'text' && tree.text === '' ? undefined : tree
}

/** So many mistakes say that it is another file; nothing else is looked for then. */
const MANY = 20

const QUOTE = 'put a value with special characters in quotes'
const TAGGED = `tags (!...) and directives (%...) are not supported: write the plain value, and ${QUOTE}`

function whyRefused(code: ErrorCode, text: string): string {
  return IN_EITHER[code] ?? (isJSON(text) ? NOT_JSON : (NOT_YAML[code] ?? NOT_YAML_AT_ALL))
}

function isJSON(text: string): boolean {
  return text.trimStart().startsWith('{')
}

/** What spoils one value or key alone: all others are where they were meant to be. */
const OF_ITS_VALUE: ReadonlySet<ErrorCode> = new Set([
  'BAD_DQ_ESCAPE',
  'BAD_SCALAR_START',
  'BLOCK_AS_IMPLICIT_KEY',
])

/** What is wrong with one line alone. What comes after any other error mostly follows from it. */
const OF_ITS_LINE: ReadonlySet<ErrorCode> = new Set([...OF_ITS_VALUE, 'TAB_AS_INDENT'])

/** What is as wrong in JSON as in other YAML. */
const IN_EITHER: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: 'this backslash means nothing in double quotes: use single quotes, or write it twice',
  BAD_SCALAR_START: `a value cannot begin with this character: ${QUOTE}`,
  MULTIPLE_DOCS: 'a second document begins here: keep one per file',
  RESOURCE_EXHAUSTION: 'this is nested too deep for a configuration: check that it is the right file',
}

/** For text in braces: the parser's code does not say which of the two it is. */
const NOT_JSON =
  'this is neither JSON nor YAML: look here and above for a comma, colon, quote, brace or bracket that is missing, or one too many'

const NOT_YAML_AT_ALL = 'this is not YAML: correct the line'

const NOT_YAML: Partial<Record<ErrorCode, string>> = {
  BAD_INDENT:
    'this is not YAML: the indentation does not fit the lines above; use the same number of spaces, and more of them within braces or brackets',
  BLOCK_AS_IMPLICIT_KEY: `this is not YAML: a value contains a colon and a space; ${QUOTE}`,
  BLOCK_IN_FLOW: 'this is not YAML: a comma is missing in braces or brackets, here or above',
  MISSING_CHAR:
    'this is not YAML: a closing quote or bracket, a comma or the colon and space after a key is missing here or above',
  MULTILINE_IMPLICIT_KEY:
    'this is not YAML: a key is not followed by a colon and a space; write "key: value" on each line',
  TAB_AS_INDENT: 'this is not YAML: a tab is used to indent; use spaces',
  UNEXPECTED_TOKEN:
    'this is not YAML: a key was expected here; write "key: value" on each line, and in braces a comma between',
}

/**
 * Walks the document once, in order. An alias yields the same tree object as its anchor, so an alias bomb costs no more
 * than its size in the file; an alias inside its own anchor finds no anchor yet.
 *
 * @param wrong the offsets of what the parser has refused and reported
 */
function treeBuilder(
  findings: Findings,
  place: (offset: number) => SourcePosition,
  wrong: readonly number[],
): (node: Node, otherwise: SourcePosition) => ConfigTree {
  const anchors = new Map<string, ConfigTree>()

  function build(node: Node, otherwise: SourcePosition): ConfigTree {
    const at = node.range ? place(node.range[0]) : otherwise
    if (isWrong(node)) return { kind: 'text', at, text: '' }
    if (isAlias(node)) return anchors.get(node.source) ?? nothing(at, NO_ANCHOR)
    const tree = treeOf(node, at)
    if ('anchor' in node && node.anchor !== undefined) anchors.set(node.anchor, tree)
    return tree
  }

  function treeOf(node: Node, at: SourcePosition): ConfigTree {
    if (isMap<unknown, unknown>(node)) {
      const inline = node.flow === true
      const entries = node.items.map(({ key, value }) => entryOf(key, value, at, inline))
      return { kind: 'map', at, entries: entries.filter((entry) => entry !== undefined) }
    }
    if (isSeq<unknown>(node)) {
      return { kind: 'list', at, items: node.items.map((item) => valueTree(item, at)) }
    }
    if (!isScalar(node) || typeof node.value !== 'string') return nothing(at, TAGGED)
    const unset = node.type === 'PLAIN' && /^(~|null|Null|NULL)$/.test(node.value)
    return { kind: 'text', at, text: unset ? '' : node.value }
  }

  function entryOf(key: unknown, value: unknown, parent: SourcePosition, inline: boolean): Entry | undefined {
    if (!isScalar(key) || typeof key.value !== 'string') {
      findings.refuse('', parent, 'a key here is not plain text: write "key: value" on each line')
      return undefined
    }
    const at = key.range ? place(key.range[0]) : parent
    if (isWrong(key)) return undefined
    if (key.value === '<<' && key.type === 'PLAIN') {
      findings.refuse('', at, 'merging maps with "<<" is not supported: write the settings out')
      return undefined
    }
    const entry = { key: key.value, at, value: valueTree(value, at) }
    // Beside a mistake it may be a line of a value.
    const doubtful = (inline && (key.type === 'PLAIN' || value === null)) || wrong.length > 0
    return doubtful ? { ...entry, doubtful } : entry
  }

  /** A scalar in which something is wrong, or a map in the place of one. */
  function isWrong(node: Node): boolean {
    const [start, end] = node.range ?? [0, 0]
    return wrong.some((at) => (isScalar(node) ? at >= start && at < end : at === start))
  }

  /** A missing value (`key` alone) is null rather than a node. */
  function valueTree(value: unknown, otherwise: SourcePosition): ConfigTree {
    if (isMap(value) || isSeq(value) || isScalar(value) || isAlias(value)) return build(value, otherwise)
    return { kind: 'text', at: otherwise, text: '' }
  }

  function nothing(at: SourcePosition, message: string): ConfigTree {
    findings.refuse('', at, message)
    return { kind: 'text', at, text: '' }
  }

  return build
}

const NO_ANCHOR =
  'this "*" refers to an anchor that is not defined above: put a value that begins with * in quotes'
