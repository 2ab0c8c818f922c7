/**
 * A store overlaid with our own writes: what the API server answered to a write counts until the watch shows it. As
 * client-go's MutationCache (`tools/cache/mutation_cache.go`).
 *
 * Until the watch shows a write, the store has the object as it was before, and another reconcile would write everything
 * again in vain. Only the versions that we wrote over are hidden: any other version is newer than our write.
 */
export function createMutationCache<
  T extends {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    /** Whether it was deleted already, and waits for its finalizers. */
    readonly deleting?: boolean
  },
>(store: (name: string) => T | undefined) {
  const writes = new Map<string, { readonly covered: readonly string[]; readonly after: T }>()
  const deleted = new Map<string, string>()
  return {
    get(name: string): T | undefined {
      const stored = store(name)
      if (stored?.uid === deleted.get(name) && stored?.deleting !== true) return undefined
      deleted.delete(name)
      const write = writes.get(name)
      if (write === undefined || stored === undefined) return stored
      if (stored.uid === write.after.uid && write.covered.includes(stored.resourceVersion)) return write.after
      writes.delete(name)
      return stored
    },
    wrote(before: T, after: T): void {
      const pending = writes.get(before.name)
      const earlier = pending?.after.resourceVersion === before.resourceVersion ? pending.covered : []
      writes.set(before.name, { covered: [...earlier, before.resourceVersion], after })
    },
    /** The object was deleted: it is no longer shown, until the watch says that a finalizer keeps it. */
    deleted({ name, uid }: T): void {
      deleted.set(name, uid)
    },
    forget(name: string): void {
      writes.delete(name)
    },
  }
}
