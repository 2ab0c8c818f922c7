/** A SOAP document with everything replaced that identifies a site, as lines: an element each. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { type SaxesAttributeNS, SaxesParser } from 'saxes'
import {
  GUESTINFO_CLAIM,
  GUESTINFO_METADATA,
  GUESTINFO_METADATA_ENCODING,
} from '../../../agent/shared/node-report.ts'
import { XML_ESCAPES } from '../../vcenter/wire/soap.ts'
import {
  CLAIM_WORDS,
  ENCODINGS,
  isKind,
  KEPT,
  METADATA_WORDS,
  NAME,
  NAMESPACES,
  PHRASES,
  SENTENCES,
  TYPE,
  VERSION_WORDS,
  XSI,
} from './kept.ts'
import type { Pseudonyms } from './pseudonyms.ts'

export interface CleaningOptions {
  readonly names: Pseudonyms
  /** The property paths that were asked for. */
  readonly paths: ReadonlySet<string>
  /** The VMs that no answer is without. */
  readonly vms: ReadonlySet<string>
}

/** Other VMs of an answer that are kept. */
const MOST_OTHERS = 20

interface Open {
  readonly name: string
  readonly tag: string
  readonly kind: string | undefined
  readonly line: number
  text: string
  children: number
  /** Of a property: which it is. */
  path: string
  /** Of a record: the VM that it is about. */
  vm: string | undefined
}

/** A list of lines, an element each. */
export function cleanXML(xml: string, { names, paths, vms }: CleaningOptions) {
  const lines: string[] = []
  const open: Open[] = []
  let [others, leftOut] = [0, 0]
  const parser = new SaxesParser({ xmlns: true, position: false })
  parser.on('error', (error) => {
    throw error
  })
  parser.on('doctype', () => {
    throw new Error('a DOCTYPE')
  })
  parser.on('opentag', ({ name, local, prefix, attributes }) => {
    const parent = open.at(-1)
    if (parent === undefined && local !== 'Envelope' && local !== 'namespaces') throw new Error('not SOAP')
    if (parent !== undefined && parent.children++ === 0)
      lines[parent.line] = `${' '.repeat(open.length - 1)}<${parent.tag}>`
    const all = Object.values(attributes)
    const kind = all.find((each) => each.uri === '' && each.local === 'type')?.value
    const safe = [prefix, local].every((part) => part === '' || NAME.test(part)) ? name : names.text(name)
    const tag = [safe, ...all.map((each) => cleanAttribute(each, names))].join(' ')
    open.push({ name: local, tag, kind, line: lines.length, text: '', children: 0, path: '', vm: undefined })
    lines.push('')
  })
  const append = (text: string) => {
    const element = open.at(-1)
    if (element !== undefined) element.text += text
  }
  parser.on('text', append)
  parser.on('cdata', append)
  parser.on('closetag', () => {
    const element = open.pop()
    const parent = open.at(-1)
    if (element === undefined) return
    const indent = ' '.repeat(open.length)
    const end = element.tag.split(' ', 1)[0] ?? ''
    if (element.children > 0) lines.push(`${indent}</${end}>`)
    else {
      note(element, parent)
      const text = escapeXML(cleanText(element, parent, open, { names, paths }))
      lines[element.line] =
        text === '' ? `${indent}<${element.tag}/>` : `${indent}<${element.tag}>${text}</${end}>`
    }
    if (
      element.vm === undefined ||
      !RECORDS.has(element.name) ||
      vms.has(element.vm) ||
      ++others <= MOST_OTHERS
    )
      return
    lines.length = element.line
    leftOut++
  })
  parser.write(xml)
  parser.close()
  return { lines, leftOut }
}

const RECORDS: ReadonlySet<string> = new Set(['objects', 'objectSet'])

/** Keeps what an element says of its parent. */
function note({ name, text, kind }: Open, parent: Open | undefined): void {
  if (parent === undefined) return
  if (name === 'obj' && kind === 'VirtualMachine') parent.vm = text
  if ((name === 'name' && /^(?:propSet|changeSet)$/.test(parent.name)) || name === 'key') parent.path = text
}

function cleanText(
  element: Open,
  parent: Open | undefined,
  above: readonly Open[],
  { names, paths }: Pick<CleaningOptions, 'names' | 'paths'>,
): string {
  const { name, text, kind } = element
  if (text.trim() === '' || text === 'true' || text === 'false') return text
  if (kind !== undefined) return isKind(kind) ? names.moref(text, kind) : names.text(text)
  if (isPathOf(element, parent) && isKnownPath(text, paths)) return text
  const isValue = name === 'val' || name === 'value'
  const property = isValue ? above.map(({ path }) => path).filter((path) => path !== '') : []
  for (const key of [...(name === 'val' ? property : []), `${parent?.name}/${name}`, name])
    if (Object.hasOwn(KEPT, key) && KEPT[key]?.test(text) === true) return text
  if (name === 'type' && isKind(text)) return text
  if (PHRASES.has(text)) return text
  if (name === 'faultstring' && /unsupported version/i.test(text)) return names.sentence(text, VERSION_WORDS)
  const about = (key: string) => property.some((path) => path === key || path.includes(`"${key}"`))
  if (about(GUESTINFO_CLAIM)) return names.text(text, CLAIM_WORDS)
  if (about(GUESTINFO_METADATA_ENCODING) && ENCODINGS.has(text.toLowerCase())) return text
  if (about(GUESTINFO_METADATA)) return cleanMetadata(text, names)
  return SENTENCES.has(name) ? names.sentence(text) : names.text(text)
}

function isPathOf({ name }: Open, parent: Open | undefined): boolean {
  if (name === 'path') return parent?.name === 'missingSet'
  return name === 'name' && (parent?.name === 'propSet' || parent?.name === 'changeSet')
}

/** One that was asked for, what is above it, or its value. */
function isKnownPath(path: string, asked: ReadonlySet<string>): boolean {
  const plain = path.replace(/\.(?:value|key)$/, '')
  return (
    asked.has(plain) ||
    [...asked].some((each) => each.startsWith(`${plain}.`) || each.startsWith(`${plain}[`))
  )
}

function cleanAttribute({ name, prefix, local, uri, value }: SaxesAttributeNS, names: Pseudonyms): string {
  const isNamespace = name === 'xmlns' || prefix === 'xmlns'
  const stays = isNamespace
    ? NAMESPACES.has(value) || /^urn:vim25\/[\d.]{1,20}$/.test(value)
    : uri === XSI
      ? (local === 'type' && TYPE.test(value)) || local === 'nil'
      : local === 'type' && isKind(value)
  return `${NAME.test(name.replace(':', '')) ? name : names.text(name)}='${escapeXML(stays ? value : names.text(value))}'`
}

function escapeXML(text: string): string {
  return text.replace(/[&<>'\r\n]/g, (character) => XML_ESCAPES[character] ?? character)
}

const BASE64 = '[A-Za-z0-9+/]{24,}={0,2}'
/** What is replaced by itself: Base64, and the numbers that say no more than the form. */
const METADATA_PARTS = new RegExp(`(${BASE64}|/\\d{1,3}(?!\\d)|\\bversion["']?: *\\d(?!\\d))`)
const DEEPEST = 4

/** Of the same encoding: its addresses count where an agent does not report them. */
function cleanMetadata(text: string, names: Pseudonyms, depth = 0): string {
  return text
    .split(METADATA_PARTS)
    .map((part, index) => {
      if (index % 2 === 0) return names.text(part, METADATA_WORDS)
      if (part.length < 24) return part
      const plain = depth < DEEPEST ? decoded(part) : undefined
      if (plain === undefined) return names.text(part)
      const clean = Buffer.from(cleanMetadata(plain.text, names, depth + 1))
      return (plain.gzip ? gzipSync(clean) : clean).toString('base64')
    })
    .join('')
}

/** What Base64 hides; undefined where it is not Base64 of text. */
function decoded(base64: string): { readonly text: string; readonly gzip: boolean } | undefined {
  try {
    const bytes = Buffer.from(base64, 'base64')
    const gzip = bytes[0] === 0x1f && bytes[1] === 0x8b
    const text = (gzip ? gunzipSync(bytes, { maxOutputLength: 1 << 20 }) : bytes).toString('utf8')
    return /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\r\n\t]*$/u.test(text) ? { text, gzip } : undefined
  } catch {
    return undefined
  }
}
