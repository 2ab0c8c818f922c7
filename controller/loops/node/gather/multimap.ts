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
