/** Several values for a key. */
export interface Multimap {
  add(key: string, value: string): void
  delete(key: string, value: string): void
  get(key: string): ReadonlySet<string>
  has(key: string): boolean
}

const NOTHING: ReadonlySet<string> = new Set()

export function createMultimap(): Multimap {
  const sets = new Map<string, Set<string>>()
  return {
    add(key, value) {
      const set = sets.get(key)
      if (set === undefined) sets.set(key, new Set([value]))
      else set.add(value)
    },
    delete(key, value) {
      const set = sets.get(key)
      set?.delete(value)
      if (set?.size === 0) sets.delete(key)
    },
    get: (key) => sets.get(key) ?? NOTHING,
    has: (key) => sets.has(key),
  }
}
