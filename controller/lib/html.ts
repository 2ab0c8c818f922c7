import { printable } from '../../agent/shared/printable.ts'

/** Longest text that is put into a page at once: strangers give names and messages. */
const MAX_TEXT = 1_000

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** HTML that {@link html} has made: everything else that is put into a page is escaped. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Markup | string | number | undefined | readonly Part[]

/** A piece of a page; what is put between its own words is escaped, and made printable, unless it is a piece itself. */
export function html(words: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(words.map((word, index) => `${word}${escaped(parts[index])}`).join(''))
}

function escaped(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Markup) return part.text
  if (Array.isArray(part)) return part.map(escaped).join('')
  return printable(String(part), MAX_TEXT).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
