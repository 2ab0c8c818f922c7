/** Reads all VMs again, one read after the other: those on the list in one go, or each apart where one makes that fail. */
import type { Clock } from '../../agent/shared/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Changes } from './cache/vm-store.ts'
import type { createMembers } from './collect/list-view.ts'
import type { InventoryMetrics } from './running-inventory.ts'
import { membersSpecs, readAgain, resync, resyncApart, type SyncVMsOptions } from './sync-vms.ts'
import { isOfObjects, UnansweredError } from './wire/errors.ts'
import type { ManagedObjectReference } from './wire/managed-object-reference.ts'

/** The key in quarantine of a read of all that are watched. */
const MEMBERS = 'members of the list'

/** @param options.onChanges called with what a read has changed and put in doubt */
export function createReadsOfAll(options: {
  readonly sync: SyncVMsOptions
  readonly members: Pick<ReturnType<typeof createMembers>, 'has' | 'size'>
  readonly listView: ManagedObjectReference
  readonly onChanges: (changes: Changes) => void
  readonly onAllRead: () => void
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Pick<InventoryMetrics, 'resynced'>
}) {
  const { sync, members, listView, onChanges, onAllRead, clock, logger, metrics } = options
  const { store, reader } = sync
  const { quarantine } = reader
  /** Reads that have ended, by number, with what they have put in doubt. */
  const reads = new Map<number, Iterable<string>>()
  /** The last read that was begun, or is to begin. */
  let reading: Promise<unknown> = Promise.resolve()

  async function readOnce(signal: AbortSignal): Promise<void> {
    const read = store.beginRead()
    const listed = [...store.vms()].filter(members.has)
    const doubted = await readUnlisted(signal)
    if (members.size() > 0) {
      const corrected = await readMembers(signal)
      onChanges(corrected)
      doubted.push(...corrected.doubted)
      metrics.resynced(corrected.vms.length, clock.now() / 1000)
      logger.debug({ vms: members.size(), corrected: corrected.vms.length }, 'read all VMs again')
    }
    // The list may have been read without them.
    const takenOff = listed.filter((vm) => !members.has(vm) && store.machine(vm) !== undefined)
    doubted.push(...(await readApart(takenOff, signal)))
    ended(read, doubted)
    onAllRead()
  }

  async function readMembers(signal: AbortSignal): Promise<Changes> {
    const apart = () => resyncApart(sync, [...store.vms()].filter(members.has), signal)
    if (quarantine?.held(MEMBERS) !== undefined) return await apart()
    try {
      return await resync(sync, listView, members.has, signal)
    } catch (error) {
      if (!isOfObjects(error)) throw error
      logger.info({ error: error.message }, 'the VMs cannot be read in one call, so each is read by itself')
      const ask = (signal: AbortSignal) =>
        reader.read(membersSpecs(reader, listView), () => undefined, signal)
      if (error instanceof UnansweredError) quarantine?.holdCall(MEMBERS, error, ask)
      return await apart()
    }
  }

  /** The VMs that push does not cover: those that vCenter refuses to watch, and those that are to be watched soon. */
  async function readUnlisted(signal: AbortSignal): Promise<string[]> {
    return await readApart(
      [...store.vms()].filter((vm) => !members.has(vm)),
      signal,
    )
  }

  /** Returns the UUIDs that this has put in doubt. */
  async function readApart(vms: readonly string[], signal: AbortSignal): Promise<string[]> {
    if (vms.length === 0) return []
    const changes = await readAgain(sync, vms, signal)
    onChanges(changes)
    return [...changes.doubted]
  }

  function ended(read: number, doubted: Iterable<string>): void {
    reads.set(read, doubted)
    endAnswered()
  }

  function endAnswered(): void {
    for (const [read, doubted] of reads) {
      if (!store.isAnswered(doubted)) continue
      reads.delete(read)
      store.endRead(read)
    }
  }

  return {
    /** One read after the other: what an older one has read must not replace what a newer one has. */
    async readAll(signal: AbortSignal): Promise<void> {
      const turn = reading.then(() => readOnce(signal))
      reading = turn.catch(() => undefined)
      await turn
    },
    /** To be called when a read of all, by its number in the store, has ended elsewhere. */
    ended,
    /** To be called when UUIDs were answered: reads are over once all that they have put in doubt is. */
    endAnswered,
  }
}
