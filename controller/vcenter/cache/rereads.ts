/** Most VMs whose doubts are remembered; of one that is forgotten, a doubt is a new one. */
const MOST = 10_000

interface Reread {
  readonly doubt: string
  read: boolean
}

/** VMs that are to be read once more, because something speaks against what is known of them. No I/O. */
export interface Rereads {
  /**
   * Whether a VM was read after this doubt about it was first raised. The first time it is not, and is to be read; a further
   * doubt takes the place of the last one.
   */
  readSince(vm: string, doubt: string): boolean
  /** What is to be read now: the VMs, and what to call once they were read, as far as vCenter let that be. */
  due(): { readonly vms: readonly string[]; readonly done: () => void }
}

export function createRereads(): Rereads {
  const asked = new Map<string, Reread>()
  return {
    readSince(vm, doubt) {
      const known = asked.get(vm)
      if (known?.doubt === doubt) return known.read
      asked.delete(vm)
      asked.set(vm, { doubt, read: false })
      const [oldest] = asked.keys()
      if (asked.size > MOST && oldest !== undefined) asked.delete(oldest)
      return false
    },
    due() {
      const due = [...asked].filter(([, { read }]) => !read)
      return {
        vms: due.map(([vm]) => vm),
        done() {
          // A doubt that was raised meanwhile is another object, and stays due.
          for (const [, each] of due) each.read = true
        },
      }
    },
  }
}
