import { count } from '../lib/format.ts'
import type { SourcePosition } from './findings.ts'

/** A configuration file as its form (YAML, of which JSON is a part, or INI) gives it: text in maps and lists, nothing checked. */
export type ConfigTree =
  | {
      readonly kind: 'text'
      /** As written: `443` and `true` are text here too. Empty where there is no value. */
      readonly text: string
      readonly at: SourcePosition
      /** INI's key alone, without `=`. */
      readonly bare?: true
    }
  | { readonly kind: 'list'; readonly items: readonly ConfigTree[]; readonly at: SourcePosition }
  | Branch

export interface Branch {
  readonly kind: 'map'
  /** Of INI: the last of several equal keys counts, and the name of a vCenter is its server unless that is written. */
  readonly ini?: true
  readonly entries: readonly Entry[]
  readonly at: SourcePosition
}

export interface Entry {
  readonly key: string
  /** Perhaps no key but a piece of a value, which may be a password: what follows a comma in YAML's braces, or a word alone. */
  readonly doubtful?: true
  readonly at: SourcePosition
  readonly value: ConfigTree
}

/** Describes a value for messages, but never quotes it: it may be a misplaced password. */
export function shape(tree: ConfigTree): string {
  if (tree.kind === 'map') return `a map of ${count(tree.entries.length, 'key')}`
  if (tree.kind === 'list') return `a list of ${count(tree.items.length, 'item')}`
  return shapeOfText(tree.text)
}

export function shapeOfText(text: string): string {
  return text === '' ? 'nothing' : `text of ${count(text.length, 'character')}`
}
