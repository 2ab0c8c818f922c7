import { createBackoff } from '../../../agent/shared/backoff.ts'
import { attempt, messageOf } from '../../../agent/shared/result.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { believedFor, createLeaseStore, type Lease } from '../../kubernetes/lease.ts'
import { type Basics, firstAnswer } from '../../lib/tasks.ts'
import type { InterlockState } from '../../types/cluster-state.ts'
import { readManagers } from '../read-cpi.ts'
import { DEFAULT_LEASE, type Managers, textOf } from './find-cpi.ts'
import { ANNOTATION_HANDLES_NODES, judgeInterlock, type Own } from './judge-interlock.ts'

export interface InterlockOptions extends Basics {
  readonly client: KubeClient
  readonly own: Own
  /** Called after {@link Interlock.state} has changed. */
  readonly onChange: () => void
}

/** Keeps this controller from writing to Nodes while a vSphere CPI handles them. */
export interface Interlock {
  /** Held until the first look is complete. */
  state(): InterlockState
  /** What cannot be seen, one line each; it holds nothing up. */
  remarks(): readonly string[]
  /** Resolves when the first look is complete. */
  readonly known: Promise<void>
  /** Looks again and again until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>
}

/** Between two reads of the Leases, milliseconds at most. */
const INTERVAL = 5_000
/** After a look that failed. */
const RETRY = { base: 1_000, max: INTERVAL }
/** Between two lists of the managers, milliseconds at most: while one of them handles Nodes, and otherwise. */
const LIST_WHILE_HELD = 60_000
const LIST_INTERVAL = 300_000
/** How long past its Lease a manager may still write: a request under way, or a clock that runs faster than ours. */
const MARGIN = 5_000
/** Clocks of one cluster that differ by more than this refuse each other's tokens and certificates. */
const MAX_SKEW = 60_000

/**
 * Reads the Lease of the vSphere CPI every few seconds, and the managers of kube-system when its holder changes, and now
 * and then. It looks in no other namespace, where anybody who may run a Pod could pretend to be a CPI, and have all Nodes
 * left alone.
 *
 * It reads rather than watches: a watch that died silently looks like a CPI that stopped. What fails changes nothing.
 *
 * As in client-go, a Lease counts as expired when it has not changed for its own duration by this process's clock, or for as
 * long as any is believed (`LONGEST_BELIEVED`). One that is already far too old when first seen is not waited for.
 */
export function createInterlock({
  client,
  own,
  clock,
  random,
  logger,
  onChange,
}: InterlockOptions): Interlock {
  const interval = createBackoff({ base: INTERVAL, max: INTERVAL, random })
  const retry = createBackoff({ ...RETRY, random })
  const known = Promise.withResolvers<void>()
  let state: InterlockState = {
    state: 'held',
    message: 'it is not known yet whether a vSphere CPI handles Nodes as well; if this lasts, see the log',
  }
  let remarks: readonly string[] = []
  let failing = false
  let managers: Managers | undefined
  /** When to list next, and who led at the last list. */
  let list = { due: 0, leaders: '' }
  /** The version of each Lease, and when it was first seen, monotonic. */
  const signs = new Map<string, { readonly version: string; readonly at: number }>()
  /** Who leads by each Lease: empty for nobody, undefined where it may not be read. */
  const leaders = new Map<string, string | undefined>()
  const refusals = new Set<string>()

  /**
   * Undefined where the right is missing. An API server that has just started refuses everything until it has read the
   * RBAC rules, so the first refusal counts as an ordinary error.
   */
  async function ifAllowed<T>(what: string, read: () => Promise<T>): Promise<{ value: T } | undefined> {
    try {
      const value = await read()
      refusals.delete(what)
      return { value }
    } catch (error) {
      if (!hasStatus(error, 403)) throw error
      if (refusals.has(what)) return undefined
      refusals.add(what)
      throw error
    }
  }

  function leaderBy(key: string, lease: Lease | undefined): string {
    const { holder = '', renewTime = '', transitions } = lease?.record ?? {}
    if (lease === undefined || holder === '' || lease.annotations[ANNOTATION_HANDLES_NODES] === 'false') {
      signs.delete(key)
      return ''
    }
    const [now, lasts] = [clock.monotonic(), believedFor(lease.record) + MARGIN]
    const version = `${holder} ${renewTime} ${transitions}`
    const seen = signs.get(key)
    const outdated = seen === undefined && Date.parse(renewTime) + lasts + MAX_SKEW < clock.now()
    const at = seen?.version === version ? seen.at : outdated ? Number.NEGATIVE_INFINITY : now
    signs.set(key, { version, at })
    return now - at < lasts ? holder : ''
  }

  async function readLeases(signal: AbortSignal): Promise<void> {
    const leases = [DEFAULT_LEASE, ...(managers?.cpi ?? []).flatMap(({ lease }) => lease ?? [])]
    for (const [key, lease] of new Map(leases.map((lease) => [textOf(lease), lease]))) {
      if (key === textOf(own.lease)) continue
      const { get } = createLeaseStore(client, lease.namespace, lease.name)
      const read = await ifAllowed(key, () => get(signal))
      leaders.set(key, read && leaderBy(key, read.value))
    }
  }

  async function look(signal: AbortSignal): Promise<void> {
    await readLeases(signal)
    if (clock.monotonic() < list.due && list.leaders === whoLeads()) return
    managers = (await ifAllowed('managers', () => readManagers(client, DEFAULT_LEASE.namespace, signal)))
      ?.value
    // The Leases of managers that were just found.
    await readLeases(signal)
    list = { due: clock.monotonic() + LIST_INTERVAL, leaders: whoLeads() }
  }

  function whoLeads(): string {
    return JSON.stringify([...leaders])
  }

  function take(): void {
    const { interlock, remarks: said } = judgeInterlock(
      {
        managers,
        leads(lease) {
          const leader = leaders.get(textOf(lease))
          return leader === undefined ? undefined : leader !== ''
        },
      },
      own,
    )
    for (const remark of said.filter((each) => !remarks.includes(each)))
      logger.warn({ remark }, 'interlock with the CPI')
    remarks = said
    if (interlock.state === 'held') {
      list = { ...list, due: Math.min(list.due, clock.monotonic() + LIST_WHILE_HELD) }
      if (state.state === 'held' && state.message === interlock.message) return
      logger.warn({ error: interlock.message }, 'Nodes are left to the CPI')
    } else {
      if (state.state === 'open') return
      logger.info('no CPI handles Nodes')
    }
    state = interlock
    onChange()
  }

  return {
    state: () => state,
    remarks: () => remarks,
    known: known.promise,
    async run(signal) {
      while (!signal.aborted) {
        const looked = await attempt(() => look(signal))
        if (signal.aborted) return
        if (looked.ok) {
          take()
          known.resolve()
          retry.reset()
        } else if (!failing) {
          const cause = messageOf(looked.error)
          logger.warn({ cause }, 'looking for the CPI failed')
        }
        failing = !looked.ok
        await clock.sleep(looked.ok ? interval.next() : retry.next(), signal)
      }
    },
  }
}

/** Milliseconds for a look that a person waits for. */
const PATIENCE = 12_000

/**
 * Whether Nodes are left to a CPI, by the leader's own code and one look. The state is undefined where the time was over
 * before it was known.
 */
export async function firstLook(
  options: Omit<InterlockOptions, 'onChange'>,
  signal: AbortSignal,
): Promise<{ readonly state: InterlockState | undefined; readonly remarks: readonly string[] }> {
  const interlock = createInterlock({ ...options, onChange: () => undefined })
  let known = false
  void interlock.known.then(() => {
    known = true
  })
  const answer = () => (known ? { state: interlock.state(), remarks: interlock.remarks() } : undefined)
  const found = await firstAnswer(interlock.run, answer, PATIENCE, options.clock, signal)
  return found ?? { state: undefined, remarks: [] }
}
