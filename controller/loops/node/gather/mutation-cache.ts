/** An object as a store keeps it. */
interface Versioned {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** Whether it was deleted already, and waits for its finalizers. */
  readonly deleting?: boolean
}

/**
 * A store overlaid with our own writes: what the API server answered to a write counts until the watch shows it. As
 * client-go's MutationCache (`tools/cache/mutation_cache.go`).
 */
export interface MutationCache<T extends Versioned> {
  get(name: string): T | undefined
  wrote(before: T, after: T): void
  /** The object was deleted: it is no longer shown, until the watch says that a finalizer keeps it. */
  deleted(object: T): void
  forget(name: string): void
}

/**
 * Until the watch shows a write, the store has the object as it was before, and another reconcile would write everything
 * again in vain. Only the versions that we wrote over are hidden: any other version is newer than our write.
 */
export function createMutationCache<T extends Versioned>(
  store: (name: string) => T | undefined,
): MutationCache<T> {
  const writes = new Map<string, { readonly covered: readonly string[]; readonly after: T }>()
  const deleted = new Map<string, string>()
  return {
    get(name) {
      const stored = store(name)
      if (stored?.uid === deleted.get(name) && stored?.deleting !== true) return undefined
      deleted.delete(name)
      const write = writes.get(name)
      if (write === undefined || stored === undefined) return stored
      if (stored.uid === write.after.uid && write.covered.includes(stored.resourceVersion)) return write.after
      writes.delete(name)
      return stored
    },
    wrote(before, after) {
      const pending = writes.get(before.name)
      const earlier = pending?.after.resourceVersion === before.resourceVersion ? pending.covered : []
      writes.set(before.name, { covered: [...earlier, before.resourceVersion], after })
    },
    deleted({ name, uid }) {
      deleted.set(name, uid)
    },
    forget(name) {
      writes.delete(name)
    },
  }
}
