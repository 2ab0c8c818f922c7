import type { Guest } from './guest.ts'
import type { Site } from './site.ts'

/** The administrator: looks after machines that were rebuilt under their names, and does what a condition asks for. */
export interface People {
  lookAfter(guest: Guest): void
  /** Reads the conditions of these Nodes, and runs `kubectl delete node` where one of them says so. */
  look(): Promise<void>
}

export function createPeople({ nodes, ledger, reports, removeNode }: Site): People {
  const rebuilt = new Set<Guest>()

  /** Whether all is done for this one. */
  async function lookAt(guest: Guest, messages: readonly string[]): Promise<boolean> {
    const { name, machine } = guest
    // It has not reached the API server yet.
    if (machine.nodeUID === undefined) return machine.destroyedAt !== undefined
    if (nodes.last(name)?.metadata.uid === machine.nodeUID) {
      if (!messages.some((message) => message.includes(`kubectl delete node ${name}`))) return false
      ledger.note(name, performance.now(), 'a person reads that the Node is to be deleted')
      await removeNode(name)
    }
    if (machine.destroyedAt === undefined) guest.restartKubelet()
    return true
  }

  return {
    lookAfter: (guest) => void rebuilt.add(guest),
    async look() {
      if (rebuilt.size === 0) return
      const all = await reports()
      for (const guest of rebuilt) {
        const report = all.find(({ metadata }) => metadata.name === guest.name)
        const messages = report?.status?.conditions?.map(({ message }) => message) ?? []
        if (await lookAt(guest, messages)) rebuilt.delete(guest)
      }
    },
  }
}
