/** Keeps the tags of all objects of interest read. Nothing waits for it: tags stand apart from the other facts. */
import { type BackoffOptions, createBackoff } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { runTogether } from '../tasks.ts'
import type { Debounce } from './collect/debounce.ts'
import type { ObjectTags, TagReader } from './collect/tags.ts'
import { every } from './every.ts'
import type { Table } from './facts/table.ts'
import type { Topology } from './facts/topology.ts'
import type { Timings } from './timings.ts'
import { keyOf, type Reference, VCenterError } from './wire/errors.ts'

export interface TaggingOptions {
  readonly tagReader: TagReader
  readonly trigger: Debounce
  readonly table: Table
  readonly topology: Topology
  readonly timings: Timings
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

/** Milliseconds between attempts while the tag service fails. */
const RETRY: Omit<BackoffOptions, 'random'> = { base: 2_000, max: 300_000 }

/**
 * Reads unknown tags when triggered, and all of them at the interval of a resync, until the signal aborts. A failure of
 * the tag service is no failure of vCenter: tags that were known stay, the others are named as unreadable meanwhile.
 */
export async function keepTagsRead(options: TaggingOptions, signal: AbortSignal): Promise<void> {
  const { tagReader, trigger, table, topology, timings, clock, random, logger } = options
  const backoff = createBackoff({ ...RETRY, random })
  /** Objects without tags for want of an answer. */
  const failed = new Set<string>()
  let all = false

  async function read(signal: AbortSignal): Promise<void> {
    const objects = taggedObjects(table, topology)
    const unread = objects.filter((object) => all || !topology.hasTags(object) || failed.has(keyOf(object)))
    if (unread.length === 0) return
    try {
      topology.putTags(await tagReader.read(unread, signal))
      if (all) topology.keepTags(objects)
      all = false
      failed.clear()
      backoff.reset()
      table.refresh()
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof VCenterError)) throw error
      logger.warn({ reason: error.reason, error: error.message }, 'tags cannot be read')
      const unknown = unread.filter((object) => !topology.hasTags(object))
      topology.putTags(new Map(unknown.map((object) => [keyOf(object), unreadable(error)])))
      for (const object of unknown) failed.add(keyOf(object))
      table.refresh()
      await clock.sleep(backoff.next(), signal)
      trigger.trigger()
    }
  }

  const refresh = async () => {
    all = true
    trigger.trigger()
  }
  trigger.trigger()
  await runTogether(
    [(signal) => trigger.run(read, signal), every(timings.resync, refresh, clock, random)],
    signal,
  )
}

function taggedObjects(table: Table, topology: Topology): Reference[] {
  const objects = new Map<string, Reference>()
  for (const machine of table.machines()) {
    for (const object of topology.tagged(machine)) objects.set(keyOf(object), object)
  }
  return [...objects.values()]
}

function unreadable(error: VCenterError): ObjectTags {
  return { tags: [], problems: [error.message] }
}
