import type { Findings, SourcePosition } from './findings.ts'
import { spelling } from './settings/row.ts'
import type { Branch, ConfigTree, Entry } from './tree.ts'

/**
 * Parses the CPI's old form into a tree of text: INI in the dialect of gcfg, which the CPI uses (gopkg.in/gcfg.v1). A
 * section that comes again is continued; keys may have underscores too, which gcfg refuses.
 *
 * The package `ini` reads another dialect: it splits `[VirtualCenter "10.0.0.1"]` at the dots, makes `true` a boolean, has
 * other escapes, no line continuation and no positions, and passes over lines that it does not understand. A password must
 * come out as the CPI reads it, and a mistake must be found, so the reader is our own.
 *
 * What is wrong is in the findings, all lines of it, and not in the tree; messages never quote the file.
 */
export function readINI(text: string, findings: Findings): ConfigTree {
  return new Reader(text, findings).read()
}

/**
 * Whether the first line that is neither blank nor a comment begins a section, in whatever way, or is `key = value`. In YAML
 * the one would be a list, the other no key.
 */
export function looksLikeINI(text: string): boolean {
  const [first] = text.split('\n').filter((line) => !/^\s*([#;].*)?$/.test(line))
  return /^\s*(\[\s*\p{L}[\p{L}\p{Nd}_-]*(?![\p{L}\p{Nd}_-])\s*($|[^\s,:])|\p{L}[\p{L}\p{Nd}_-]*\s*=)/u.test(
    first ?? '',
  )
}

interface OpenBranch extends Branch {
  readonly entries: Entry[]
}

const IDENTIFIER = /\p{L}[\p{L}\p{Nd}_-]*/uy
const BLANKS = /[ \t\r]*/y
const COMMENT = /[;#][^\n]*/y
const LINE = /[^\n]*/y
/** A line with a section in brackets, and no value. */
const HEADER = /^[^=[]+\[[^=]*\]/u

/** What a backslash means in double quotes. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\'],
  ['"', '"'],
  ['n', '\n'],
  ['t', '\t'],
])

/** Ends the reading of a line; the error is in the findings. */
const WRONG = Symbol('wrong')
type Read<T> = T | typeof WRONG

class Reader {
  readonly #text: string
  readonly #findings: Findings
  readonly #root: OpenBranch = newBranch({ line: 1, column: 1 })
  readonly #branches = new Map<string, OpenBranch>()
  #section: OpenBranch | undefined
  #offset = 0
  /** Whether a colon was reported in the place of "=". */
  #colons = false
  /** The last line that a position was asked for. */
  #line = { number: 1, start: 0 }

  constructor(text: string, findings: Findings) {
    this.#text = text
    this.#findings = findings
  }

  read(): ConfigTree {
    while (this.#offset < this.#text.length) {
      const read = this.#endOfLine() ? undefined : this.#next() === '[' ? this.#header() : this.#setting()
      if (read === WRONG) this.#match(LINE)
      // The line's end itself.
      this.#offset++
    }
    return this.#root
  }

  #header(): Read<void> {
    const at = this.#place()
    // What follows a wrong header is dropped.
    this.#section = newBranch(at)
    this.#offset++
    this.#match(BLANKS)
    const name = this.#match(IDENTIFIER)
    if (name === '') return this.#wrong('expected the name of a section after this bracket, such as [Global]')
    this.#match(BLANKS)
    const sub = this.#next() === '"' ? this.#value(true) : undefined
    if (sub === WRONG) return WRONG
    if (sub === '')
      return this.#wrong(
        'the name in quotes is empty: write one, such as [VirtualCenter "vc.example.com"]',
        at,
      )
    this.#match(BLANKS)
    if (this.#next() !== ']')
      return this.#wrong('a closing bracket is missing here: write [SECTION] or [SECTION "NAME"]')
    this.#offset++
    if (!this.#endOfLine())
      return this.#wrong('a section header must be alone on its line: start a new line here')
    const id = spelling(name)
    const section = this.#open(this.#root, id, name, at)
    this.#section = sub === undefined ? section : this.#open(section, `${id} ${sub}`, sub, at)
    return undefined
  }

  #setting(): Read<void> {
    const at = this.#place()
    const key = this.#match(IDENTIFIER)
    if (key === '') {
      // As after a wrong header: with another character before its bracket, this may be one.
      if (HEADER.test(this.#text.slice(this.#offset).split('\n', 1)[0] ?? '')) this.#section = newBranch(at)
      return this.#wrong('expected a key, a [SECTION] or a comment')
    }
    const value = this.#valueAfterKey(at)
    if (value === WRONG) return WRONG
    if (this.#section === undefined) {
      // Reported once: the keys below it have no section either.
      this.#section = newBranch(at)
      return this.#wrong('a section is missing above the first key: write [Global] before it', at)
    }
    const entry = { key, at, value }
    // After a mistake, or below a key without a value, this may be a line of a value.
    const above = this.#section.entries.at(-1)?.value
    const doubtful = value.bare || this.#findings.wrong || (above?.kind === 'text' && above.text === '')
    this.#section.entries.push(doubtful ? { ...entry, doubtful: true } : entry)
    return undefined
  }

  #valueAfterKey(key: SourcePosition): Read<Extract<ConfigTree, { readonly kind: 'text' }>> {
    if (this.#endOfLine()) return { kind: 'text', at: key, text: '', bare: true }
    if (this.#next() === ':') return this.#colon()
    if (this.#next() !== '=')
      return this.#wrong('expected "=" after the key: write "key = value" on each line')
    this.#offset++
    this.#match(BLANKS)
    const at = this.#place()
    const text = this.#value(false)
    if (text === WRONG) return WRONG
    return this.#endOfLine() ? { kind: 'text', at, text } : this.#wrong('expected the end of the line')
  }

  /** Of YAML below a first line of INI, each line would be wrong: reported once. */
  #colon(): typeof WRONG {
    if (this.#colons) return WRONG
    this.#colons = true
    return this.#wrong(
      'a colon is where "=" was expected: write "key = value" on each line, or, if the file is meant to be YAML, take out the lines of INI, such as [SECTION]',
    )
  }

  /**
   * A value: pieces with and without double quotes, up to the end of the line or a comment. Blanks around it do not count,
   * those in quotes do. Without quotes, a backslash is only for a quote, or continues in the next line.
   *
   * @param one ends it after the first piece in quotes, for the name of a section
   */
  #value(one: boolean): Read<string> {
    let [text, kept, quote]: [string, number, SourcePosition | undefined] = ['', 0, undefined]
    for (;;) {
      const next = this.#next()
      if (next === '' || next === '\n' || (quote === undefined && (next === ';' || next === '#'))) break
      const at = next === '"' || next === '\\' ? this.#place() : undefined
      this.#offset++
      if (next === '"') quote = quote === undefined ? at : undefined
      else if (next === '\\') {
        const meant = this.#escaped(quote !== undefined)
        if (meant === undefined) return this.#wrong(quote === undefined ? BARE_ESCAPE : QUOTED_ESCAPE, at)
        text += meant
      } else if (next !== '\r') text += next
      if (quote !== undefined || !/[ \t\r]/.test(next)) kept = text.length
      if (one && quote === undefined) break
    }
    if (quote !== undefined) return this.#wrong('a closing quote is missing in this line', quote)
    return text.slice(0, kept)
  }

  /** What the backslash before this place means; undefined where it means nothing. */
  #escaped(quoted: boolean): string | undefined {
    if (!quoted) this.#match(/\r?/y)
    const next = this.#next()
    const meant = quoted ? ESCAPES.get(next) : next === '"' ? '"' : next === '\n' ? '' : undefined
    if (meant !== undefined) this.#offset++
    return meant
  }

  /** The section, continued if it is there already. Case does not count in its name, but does in quotes. */
  #open(parent: OpenBranch, id: string, key: string, at: SourcePosition): OpenBranch {
    const known = this.#branches.get(id)
    if (known !== undefined) return known
    const value = newBranch(at)
    parent.entries.push({ key, at, value })
    this.#branches.set(id, value)
    return value
  }

  /** Passes over blanks and a comment; whether the line ends there. */
  #endOfLine(): boolean {
    this.#match(BLANKS)
    this.#match(COMMENT)
    return this.#next() === '' || this.#next() === '\n'
  }

  #next(): string {
    return this.#text.charAt(this.#offset)
  }

  /** Passes over what matches here, perhaps nothing. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#offset
    const [found = ''] = pattern.exec(this.#text) ?? []
    this.#offset += found.length
    return found
  }

  #place(): SourcePosition {
    for (;;) {
      const end = this.#text.indexOf('\n', this.#line.start)
      if (end === -1 || end >= this.#offset) break
      this.#line = { number: this.#line.number + 1, start: end + 1 }
    }
    return { line: this.#line.number, column: this.#offset - this.#line.start + 1 }
  }

  #wrong(message: string, at = this.#place()): typeof WRONG {
    this.#findings.refuse('', at, `this is not INI, ${message}`)
    return WRONG
  }
}

const BARE_ESCAPE =
  'without quotes, a backslash may only come before a quote or at the end of a line: put the value in double quotes, and write the backslash twice'
const QUOTED_ESCAPE = 'this backslash means nothing in double quotes: write it twice'

function newBranch(at: SourcePosition): OpenBranch {
  return { kind: 'map', ini: true, entries: [], at }
}
