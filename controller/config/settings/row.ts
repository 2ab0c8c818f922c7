/** The form of the table of settings: a row for each key of the file. Readers, checks, docs and schema come from it. */
import type { Result } from '../../../agent/shared/result.ts'

/** How values of one kind are written and read. */
export interface ValueType<T> {
  /** `list`: text with commas, or a list of text, as in the CPI. `flag`: in INI, a key without a value means true. */
  readonly form: 'text' | 'list' | 'flag'
  /** Refuses with what was expected; never repeats the text. */
  readonly parse: (text: string) => Result<T>
  /** The value where nothing is written and there is no default. */
  readonly nothing: T
  /** JSON Schema of the value, for editors. */
  readonly schema: Schema
}

export type Schema = { readonly [key: string]: unknown }

export interface Row<T, S> extends ValueType<T> {
  /** What counts where nothing is written. */
  readonly standard: T
  /** As it would be written. */
  readonly default?: string
  /** A value that counts as not written, as empty text always does. */
  readonly unset?: string
  /** A setting so grave that empty text is a mistake, not absence. */
  readonly neverEmpty?: true
  /** For the docs: what goes where nothing is written and there is no default. */
  readonly otherwise?: string
  /** For docs/configuration.md and editors, in Markdown. */
  readonly meaning: string
  /** Whether there must be a value, here or inherited. */
  readonly required?: true
  /** Of a lifecycle setting: what its default protects against. */
  readonly protects?: string
  /** A warning for a value that is valid but dangerous or idle, beside the section's other values. */
  readonly warn?: (value: T, section: S) => string | undefined
}

/**
 * @throws RangeError where the default is not a value: a mistake in the table
 */
export function row<T, S>(
  kind: ValueType<T>,
  options: Omit<Row<T, S>, keyof ValueType<T> | 'standard'>,
): Row<T, S> {
  const { default: written } = options
  const parsed = written === undefined ? undefined : kind.parse(written)
  if (parsed?.ok === false) throw new RangeError(`the default "${written}": ${parsed.message}`)
  return { ...kind, ...options, standard: parsed === undefined ? kind.nothing : parsed.value }
}

/** Settings or sections that are known, but have no effect here; a warning says so unless they are empty. */
export type Others = Readonly<
  Record<
    string,
    {
      readonly because: string
      /** For the docs, in a sentence of its own. */
      readonly meaning: string
    }
  >
>

export interface SectionTable<S> {
  /** One for each of its settings, by the name that docs and messages use. */
  readonly rows: { readonly [K in keyof S]-?: Row<S[K], S> }
  readonly others: Others
}

/** What of a row does not depend on the type of its values, for docs and schema. */
export type AnyRow = Pick<
  Row<unknown, unknown>,
  'form' | 'schema' | 'default' | 'otherwise' | 'meaning' | 'required' | 'protects'
>

export interface AnySection {
  readonly rows: Readonly<Record<string, AnyRow>>
  readonly others: Others
}

/** The names that a table has a row for, in their order. */
export function namesOf<T extends object>(table: T): readonly (keyof T & string)[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of an object are strings to the compiler
  return Object.keys(table) as (keyof T & string)[]
}

/** What counts where nothing is written. */
export function standardOf<S, K extends keyof S>({ rows }: Pick<SectionTable<S>, 'rows'>, name: K): S[K] {
  return rows[name].standard
}

/** Two spellings of one setting come out the same: `insecure-flag`, `insecure_flag`, `INSECUREFLAG`. */
export function spelling(key: string): string {
  return key.toLowerCase().replaceAll(/[-_]/g, '')
}
