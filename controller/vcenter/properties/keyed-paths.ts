/** Paths of single entries of a list, as `config.extraConfig["key"]`, and what takes their place where a server knows none. */
import { textOf, type XMLElement } from '../wire/xml.ts'

/** `list["key"]` or `list[4000]`. */
const KEYED = /^(.*)\[(?:"(.*)"|(\d+))\]$/

/** The same paths, but with whole lists in place of their entries: `config.extraConfig` is some 15 kB. */
export function withoutKeys(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.map((path) => KEYED.exec(path)?.[1] ?? path))]
}

/** Those of the paths that are entries of this list, with their keys. */
export function entriesOf(list: string, paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    paths.flatMap((path) => {
      const [, of, text, number] = KEYED.exec(path) ?? []
      const key = text ?? number
      return of === list && key !== undefined ? [[path, key] as const] : []
    }),
  )
}

/** The entry with this key; undefined where the list has none. */
export function entryIn(list: XMLElement | undefined, key: string): XMLElement | undefined {
  return list?.children.find((each) => textOf(each, 'key') === key)
}

/** What was said of whole lists, said of those of their entries that these paths name as well. */
export function spread<V>(
  values: ReadonlyMap<string, V>,
  paths: readonly string[],
  entry: (list: V, key: string) => V | undefined,
): ReadonlyMap<string, V> {
  const all = new Map(values)
  for (const [list, whole] of values) {
    for (const [path, key] of entriesOf(list, paths)) {
      const value = entry(whole, key)
      if (value !== undefined) all.set(path, value)
    }
  }
  return all
}
