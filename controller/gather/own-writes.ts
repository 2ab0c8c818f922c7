/** An object as a store keeps it. */
interface Versioned {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

/** A store seen through one's own writes: what the API server answered to a write counts until the watch catches up. */
export interface OwnWrites<T extends Versioned> {
  get(name: string): T | undefined
  wrote(before: T, after: T): void
  /** The object is gone, or on its way: not shown any more, though the watch still has it. */
  deleted(object: T): void
  forget(name: string): void
}

/**
 * Between a write and its arrival by the watch the store shows the object as it was, and a second look would write
 * everything again, in vain. Only the very versions that were written over are covered up: anything else is newer.
 */
export function createOwnWrites<T extends Versioned>(store: (name: string) => T | undefined): OwnWrites<T> {
  const writes = new Map<string, { covered: Set<string>; after: T }>()
  const deleted = new Map<string, string>()
  return {
    get(name) {
      const stored = store(name)
      if (stored !== undefined && stored.uid === deleted.get(name)) return undefined
      deleted.delete(name)
      const write = writes.get(name)
      if (write === undefined || stored === undefined) return stored
      if (stored.uid === write.after.uid && write.covered.has(stored.resourceVersion)) return write.after
      writes.delete(name)
      return stored
    },
    wrote(before, after) {
      const pending = writes.get(before.name)
      const covered =
        pending?.after.resourceVersion === before.resourceVersion ? pending.covered : new Set<string>()
      covered.add(before.resourceVersion)
      writes.set(before.name, { covered, after })
    },
    deleted({ name, uid }) {
      deleted.set(name, uid)
    },
    forget(name) {
      writes.delete(name)
    },
  }
}
