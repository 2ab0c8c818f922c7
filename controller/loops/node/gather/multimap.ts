/** Several values for a key. */
export interface Multimap {
  add(key: string, value: string): void
  delete(key: string, value: string): void
  get(key: string): Iterable<string>
  count(key: string): number
  has(key: string): boolean
}

const NOTHING: readonly string[] = []

/** Most keys have one value, which is kept without a set: five sets a Node would be a kilobyte. */
export function createMultimap(): Multimap {
  const values = new Map<string, string | Set<string>>()
  return {
    add(key, value) {
      const known = values.get(key)
      if (known === undefined) values.set(key, value)
      else if (typeof known !== 'string') known.add(value)
      else if (known !== value) values.set(key, new Set([known, value]))
    },
    delete(key, value) {
      const known = values.get(key)
      if (known === value) values.delete(key)
      if (typeof known !== 'object') return
      known.delete(value)
      if (known.size === 0) values.delete(key)
    },
    get(key) {
      const known = values.get(key) ?? NOTHING
      return typeof known === 'string' ? [known] : known
    },
    count(key) {
      const known = values.get(key)
      if (known === undefined) return 0
      return typeof known === 'string' ? 1 : known.size
    },
    has: (key) => values.has(key),
  }
}
