/** Most doubts that are remembered. One that is forgotten counts as new. */
const MOST = 10_000

interface Reread {
  readonly vm: string
  readonly doubt: string
  read: boolean
}

/** VMs that have to be read again, because something contradicts what is known of them. No I/O. */
export interface Rereads {
  /**
   * Whether a VM was read after this doubt about it was first raised. The first call returns false and makes the VM due; another
   * doubt replaces the last one of the same Node. Each Node has its own: by one that is not the VM's, a false report would keep
   * the VM's own Node waiting for ever.
   */
  readSince(vm: string, doubt: string, node: string): boolean
  /** The VMs to read now, and what to call once they were read. Those that vCenter has refused remain due. */
  due(): { readonly vms: readonly string[]; readonly done: (refused: ReadonlySet<string>) => void }
}

export function createRereads(): Rereads {
  const asked = new Map<string, Reread>()
  return {
    readSince(vm, doubt, node) {
      const key = `${vm} ${node}`
      const known = asked.get(key)
      if (known?.doubt === doubt) return known.read
      asked.delete(key)
      asked.set(key, { vm, doubt, read: false })
      const [oldest] = asked.keys()
      if (asked.size > MOST && oldest !== undefined) asked.delete(oldest)
      return false
    },
    due() {
      const due = [...asked.values()].filter(({ read }) => !read)
      return {
        vms: [...new Set(due.map(({ vm }) => vm))],
        done(refused) {
          // A doubt that was raised meanwhile is another object, and remains due.
          for (const each of due) each.read = !refused.has(each.vm)
        },
      }
    },
  }
}
