import type { Guest } from './guest.ts'
import type { SoakStage } from './stage.ts'

/** The administrator: looks after machines that were rebuilt under their names, and does what Rollcall asks for. */
export interface People {
  lookAfter(guest: Guest): void
  /** For a machine whose VM is gone: its Node may be one of those that Rollcall leaves to a person. */
  tidyUpAfter(guest: Guest): void
  /** Reads what is said of these Nodes, and runs `kubectl delete node` where it says so. */
  look(): Promise<void>
}

export function createPeople({ nodes, ledger, reports, unreported, unbound, removeNode }: SoakStage): People {
  const rebuilt = new Set<Guest>()
  const gone = new Set<Guest>()

  const hasNode = ({ name, machine }: Guest) => nodes.last(name)?.metadata.uid === machine.nodeUID

  async function remove({ name }: Guest): Promise<void> {
    ledger.note(name, performance.now(), 'a person reads that the Node is to be deleted')
    await removeNode(name)
  }

  /** Whether all is done for this one. */
  async function lookAt(guest: Guest, messages: readonly string[]): Promise<boolean> {
    const { name, machine } = guest
    // It has not reached the API server yet.
    if (machine.nodeUID === undefined) return machine.destroyedAt !== undefined
    if (hasNode(guest)) {
      if (!messages.some((message) => message.includes(`kubectl delete node ${name}`))) return false
      await remove(guest)
    }
    if (machine.destroyedAt === undefined) guest.restartKubelet()
    return true
  }

  /** Where an Event says that no agent reports, and there is no report still. Whether all is done for this one. */
  async function tidyUp(guest: Guest, told: ReadonlySet<string>, reported: boolean): Promise<boolean> {
    if (!hasNode(guest)) return true
    if (reported || !told.has(guest.machine.nodeUID ?? '')) return false
    await remove(guest)
    return true
  }

  return {
    lookAfter: (guest) => void rebuilt.add(guest),
    tidyUpAfter(guest) {
      if (unbound === 'report') gone.add(guest)
    },
    async look() {
      if (rebuilt.size === 0 && gone.size === 0) return
      const all = await reports()
      const reportOf = (name: string) => all.find(({ metadata }) => metadata.name === name)
      for (const guest of rebuilt) {
        const messages = reportOf(guest.name)?.status?.conditions?.map(({ message }) => message) ?? []
        if (await lookAt(guest, messages)) rebuilt.delete(guest)
      }
      const told = gone.size === 0 ? new Set<string>() : await unreported()
      for (const guest of gone) {
        if (await tidyUp(guest, told, reportOf(guest.name) !== undefined)) gone.delete(guest)
      }
    },
  }
}
