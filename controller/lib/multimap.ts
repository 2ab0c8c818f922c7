const NOTHING: readonly string[] = []

/** Several values for a key. Most keys have one, which is kept without a set: five sets a Node would be a kilobyte. */
export function createMultimap() {
  const values = new Map<string, string | Set<string>>()
  return {
    add(key: string, value: string): void {
      const known = values.get(key)
      if (known === undefined) values.set(key, value)
      else if (typeof known !== 'string') known.add(value)
      else if (known !== value) values.set(key, new Set([known, value]))
    },
    delete(key: string, value: string): void {
      const known = values.get(key)
      if (known === value) values.delete(key)
      if (typeof known !== 'object') return
      known.delete(value)
      if (known.size === 0) values.delete(key)
    },
    get(key: string): Iterable<string> {
      const known = values.get(key) ?? NOTHING
      return typeof known === 'string' ? [known] : known
    },
    count(key: string): number {
      const known = values.get(key)
      if (known === undefined) return 0
      return typeof known === 'string' ? 1 : known.size
    },
    has: (key: string) => values.has(key),
  }
}

/** A multimap in which all keys of a value are set at once, in place of those that it had. */
export function createReverseIndex() {
  const keysOf = new Map<string, readonly string[]>()
  const values = createMultimap()
  return {
    set(value: string, keys: readonly string[]): void {
      for (const key of keysOf.get(value) ?? []) values.delete(key, value)
      for (const key of keys) values.add(key, value)
      if (keys.length === 0) keysOf.delete(value)
      else keysOf.set(value, keys)
    },
    get: values.get,
    has: values.has,
  }
}
