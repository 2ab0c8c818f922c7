import type { VCenterError } from '../wire/errors.ts'

/** Most doubts that are remembered. One that is forgotten counts as new. */
const MOST = 10_000

/** VMs that have to be read again, because something contradicts what is known of them. No I/O. */
export function createRereads() {
  const asked = new Map<
    string,
    {
      readonly vm: string
      readonly doubt: string
      state: 'due' | 'read' | VCenterError
    }
  >()
  return {
    /**
     * Whether a VM was read after this doubt about it was first raised. The first call returns false and makes the VM due; another
     * doubt replaces the last one of the same Node. Each Node has its own: by one that is not the VM's, a false report would keep
     * the VM's own Node waiting forever. An error where vCenter has refused to read it since then.
     */
    readSince(vm: string, doubt: string, node: string): boolean | VCenterError {
      const key = `${vm} ${node}`
      const known = asked.get(key)
      if (known?.doubt === doubt) return known.state === 'due' ? false : known.state === 'read' || known.state
      asked.delete(key)
      asked.set(key, { vm, doubt, state: 'due' })
      const [oldest] = asked.keys()
      if (asked.size > MOST && oldest !== undefined) asked.delete(oldest)
      return false
    },
    /**
     * The VMs to read now, and what to call once they were read: with those that could not be, and why where vCenter says it.
     * They remain due. It returns those about which there is news.
     */
    due() {
      const due = [...asked.values()].filter(({ state }) => state !== 'read')
      return {
        vms: [...new Set(due.map(({ vm }) => vm))],
        done(refused: ReadonlyMap<string, VCenterError | undefined>): readonly string[] {
          const news = new Set<string>()
          // A doubt that was raised meanwhile is another object, and remains due.
          for (const each of due) {
            const { state: before } = each
            each.state = refused.has(each.vm) ? (refused.get(each.vm) ?? before) : 'read'
            if (typeof before === 'string' ? each.state !== before : each.state === 'read') news.add(each.vm)
          }
          return [...news]
        },
      }
    },
  }
}
