/** A streaming, namespace-aware XML reader for untrusted input: vCenter's answers come through proxies. */
import { SaxesParser } from 'saxes'
import { createCharacterReader } from './characters.ts'
import { malformed, TooLongError, VCenterError } from './errors.ts'

// Limits on answers: they come through proxies and contain what guests write.

/** vCenter's answers are about ten levels deep; snapshots nest deeper, but are never requested. */
const MAX_DEPTH = 64
/** Elements in memory at once; a VM's devices take some hundred. */
const MAX_ELEMENTS = 100_000
/** Characters in memory at once, outside records and in one record. */
const MAX_TEXT = 1 << 20
const MAX_RECORD_TEXT = 4 << 20
/** Characters of one text in a record; the rest is skipped, as no expected text is as long. */
export const MAX_RECORD_VALUE = 1 << 16
/** Attributes of one element; namespaces count. */
const MAX_ATTRIBUTES = 64
/** Prefixes that count at one place; vCenter declares five. Each name with a prefix is looked for among them. */
const MAX_NAMESPACES = 64
/** Characters of one start tag. */
const MAX_TAG = 1 << 18
/**
 * Characters that the parser may buffer for one text or comment: a guest may have written a megabyte, and each character may
 * take six.
 */
const MAX_GATHERED = 8 << 20
/** Bytes of an answer that is read as a whole. */
export const MAX_BYTES = 1 << 20
/** Bytes of an answer that is read record by record: enough for ten thousand VMs in one page. */
export const MAX_BYTES_BY_RECORD = 64 << 20

const XSI = 'http://www.w3.org/2001/XMLSchema-instance'
/** The beginning of an attribute that declares a prefix. */
const DECLARATION = 'xmlns:'

/** One element. Values stay text: nothing is converted. */
export interface XMLElement {
  /** Without prefix. */
  readonly name: string
  /** `xsi:type` without its prefix, whatever prefix the namespace has. */
  readonly type: string | undefined
  /** The attribute `type` without namespace: the kind of a managed object reference. */
  readonly kind: string | undefined
  /** Its own text, without that of its children. */
  text: string
  readonly children: XMLElement[]
}

/** Elements of this name at this depth (the root is 1) are passed on when complete, and not kept. */
export interface RecordReader {
  readonly name: string
  readonly depth: number
  /**
   * `whole` is false for a record that exceeds the limits: the rest of it was skipped. `parent` has what came before the
   * record, but for other records.
   */
  take(record: XMLElement, whole: boolean, parent: XMLElement | undefined): void
}

/**
 * Reads one document whose root has the local name `root`.
 *
 * Characters that XML does not allow become U+FFFD. Throws a VCenterError: `NotVCenter` for HTML or another root,
 * `MalformedAnswer` for a document that is truncated, has a DOCTYPE (entities would expand) or exceeds the limits, and a
 * TooLongError where its records make it too long.
 */
export async function readXML(
  body: AsyncIterable<Uint8Array>,
  root: string,
  records?: RecordReader,
): Promise<XMLElement> {
  const builder = new TreeBuilder(root, records)
  const characters = createCharacterReader()
  const limit = records === undefined ? MAX_BYTES : MAX_BYTES_BY_RECORD
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength
      if (bytes > limit) throw tooLong(limit, records && builder.records)
      builder.write(characters.read(chunk))
    }
    builder.write(characters.end())
    return builder.end()
  } catch (error) {
    if (error instanceof NotXMLError) throw unreadable(`it is not well-formed (${error.message})`, error)
    throw error
  }
}

class NotXMLError extends Error {}

/** A namespace that an element declares for itself and all in it. */
interface Namespace {
  readonly prefix: string
  readonly uri: string
  readonly outer: Namespace | undefined
  /** How many there are from here outward. */
  readonly count: number
}

/** Bound in every document (Namespaces in XML 1.0). */
const XML: Namespace = {
  prefix: 'xml',
  uri: 'http://www.w3.org/XML/1998/namespace',
  outer: undefined,
  count: 1,
}

class TreeBuilder {
  // Prefixes are looked up here: the parser's own way makes five objects for each of the 150 elements that tell of a VM. Its
  // handlers are properties with computed names: with an eighth one V8 makes a dictionary of the parser, which is five times as slow.
  readonly #parser = new SaxesParser({ xmlns: false, position: false })
  readonly #root: string
  readonly #records: RecordReader | undefined
  readonly #open: XMLElement[] = []
  #document: XMLElement | undefined
  #elements = 0
  #characters = 0
  /** What is kept besides the current record; undefined outside records. */
  #outside: { readonly elements: number; readonly characters: number } | undefined
  /** Whether the current record exceeds the limits. */
  #excess = false
  /** Records passed on. */
  records = 0
  /** The namespaces that count at this place, and those around each open element. */
  #namespaces: Namespace | undefined = XML
  readonly #around: (Namespace | undefined)[] = []
  #inTag = false
  /** Position of the parser's last event. */
  #handed = 0

  constructor(root: string, records: RecordReader | undefined) {
    this.#root = root
    this.#records = records
    this.#parser.on('error', (error) => {
      throw new NotXMLError(error.message.slice(0, 200))
    })
    this.#parser.on('doctype', (text) => {
      if (/^\s*html\b/i.test(text)) throw notVCenter('an HTML page')
      throw unreadable('it has a DOCTYPE')
    })
    this.#parser.on('opentagstart', () => {
      this.#inTag = true
      this.#handed = this.#parser.position
    })
    this.#parser.on('opentag', ({ name, attributes }) => {
      this.#inTag = false
      this.#handed = this.#parser.position
      this.#begin(name, Object.entries(attributes))
    })
    this.#parser.on('text', (text) => this.#append(text))
    this.#parser.on('cdata', (text) => this.#append(text))
    this.#parser.on('closetag', () => {
      this.#handed = this.#parser.position
      this.#finish()
    })
  }

  write(text: string): void {
    if (text === '') return
    this.#parser.write(text)
    const limit = this.#inTag ? MAX_TAG : MAX_GATHERED
    if (this.#parser.position - this.#handed > limit) {
      throw unreadable(`a tag, a text or a comment of it is longer than ${limit >> 10} kB`)
    }
  }

  end(): XMLElement {
    this.#parser.close()
    if (this.#document === undefined) throw unreadable('it is empty')
    return this.#document
  }

  #begin(qualified: string, attributes: readonly (readonly [name: string, value: string])[]): void {
    if (attributes.length > MAX_ATTRIBUTES)
      throw unreadable(`an element has more than ${MAX_ATTRIBUTES} attributes`)
    this.#around.push(this.#namespaces)
    for (const [name, value] of attributes)
      if (name.startsWith(DECLARATION)) this.#declare(name.slice(DECLARATION.length), value)
    const name = withoutPrefix(qualified)
    if (name !== qualified) this.#namespaceOf(qualified)
    let type: string | undefined
    let kind: string | undefined
    for (const [name, value] of attributes) {
      if (name === 'type') kind = value
      else if (!name.includes(':') || name.startsWith(DECLARATION)) continue
      else if (this.#namespaceOf(name) === XSI && withoutPrefix(name) === 'type') type = withoutPrefix(value)
    }
    if (this.#open.length === 0 && name !== this.#root) {
      throw notVCenter(
        name.toLowerCase() === 'html' ? 'an HTML page' : `a document called ${name.slice(0, 50)}`,
      )
    }
    if (this.#open.length >= MAX_DEPTH) throw unreadable(`it is nested deeper than ${MAX_DEPTH} levels`)
    if (++this.#elements > MAX_ELEMENTS)
      this.#exceeded(`it has more than ${MAX_ELEMENTS} elements in one piece`)
    const isRecord = this.#records?.depth === this.#open.length + 1 && this.#records.name === name
    if (isRecord) this.#outside = { elements: this.#elements - 1, characters: this.#characters }
    const element: XMLElement = { name, type, kind, text: '', children: [] }
    this.#count(name.length + (element.type?.length ?? 0) + (element.kind?.length ?? 0))
    this.#open.push(element)
  }

  #declare(prefix: string, uri: string): void {
    const outer = this.#namespaces
    const count = (outer?.count ?? 0) + 1
    if (count > MAX_NAMESPACES)
      throw unreadable(`more than ${MAX_NAMESPACES} namespaces are declared at one place`)
    this.#namespaces = { prefix, uri, outer, count }
  }

  /** The namespace of a name with a prefix. */
  #namespaceOf(name: string): string {
    const prefix = name.slice(0, name.indexOf(':'))
    const local = withoutPrefix(name)
    let namespace = this.#namespaces
    while (namespace !== undefined && namespace.prefix !== prefix) namespace = namespace.outer
    if (namespace === undefined || local === '' || local.includes(':'))
      throw new NotXMLError('a name has a prefix that is not declared')
    return namespace.uri
  }

  #append(text: string): void {
    this.#handed = this.#parser.position
    const element = this.#open.at(-1)
    if (element === undefined || this.#excess) return
    const room = this.#outside === undefined ? text.length : MAX_RECORD_VALUE - element.text.length
    const kept = text.slice(0, room)
    this.#count(kept.length)
    element.text += kept
  }

  #count(characters: number): void {
    this.#characters += characters
    const limit = this.#outside === undefined ? MAX_TEXT : this.#outside.characters + MAX_RECORD_TEXT
    if (this.#characters > limit) this.#exceeded('it has too much text in one piece')
  }

  /** Fails the current record or, outside records, the whole answer. */
  #exceeded(what: string): void {
    if (this.#outside === undefined) throw unreadable(what)
    this.#excess = true
  }

  #finish(): void {
    this.#namespaces = this.#around.pop()
    const depth = this.#open.length
    const element = this.#open.pop()
    if (element === undefined) return
    const parent = this.#open.at(-1)
    if (this.#records?.depth === depth && this.#records.name === element.name) {
      this.#elements = this.#outside?.elements ?? 0
      this.#characters = this.#outside?.characters ?? 0
      this.#outside = undefined
      this.records++
      const whole = !this.#excess
      this.#excess = false
      this.#records.take(element, whole, parent)
      return
    }
    if (parent === undefined) this.#document = element
    else if (!this.#excess) parent.children.push(element)
  }
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

function unreadable(what: string, cause?: unknown): VCenterError {
  return malformed(`the answer of vCenter cannot be read: ${what}`, cause)
}

function tooLong(limit: number, records: number | undefined): VCenterError {
  const error = unreadable(`it is longer than ${limit >> 20} MB`)
  return records === undefined ? error : new TooLongError(error.message, records)
}

function notVCenter(what: string): VCenterError {
  return new VCenterError(
    'NotVCenter',
    `${what} came instead of a SOAP answer; check server and port, and for a proxy in between`,
  )
}

/** First child of this name. */
export function child(element: XMLElement | undefined, name: string): XMLElement | undefined {
  return element?.children.find((each) => each.name === name)
}

/** All children of this name, one or many. */
export function childrenOf(element: XMLElement | undefined, name: string): XMLElement[] {
  return element?.children.filter((each) => each.name === name) ?? []
}

/** Text of the first child of this name; undefined where there is none or it is empty. */
export function textOf(element: XMLElement | undefined, name: string): string | undefined {
  const text = child(element, name)?.text
  return text === '' ? undefined : text
}
