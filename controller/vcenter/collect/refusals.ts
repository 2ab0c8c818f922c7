/** Calls about many objects, which vCenter refuses as a whole for the sake of one. */
import { isRebuild, namesObject, SoapFault } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'

/** Calls beyond one for each group: finding one refused object among a thousand takes about twenty. */
const MAX_EXTRA_CALLS = 39

export interface Batches<T> {
  /** The objects, each group few enough for one call. */
  readonly groups: readonly (readonly T[])[]
  /** How many groups are called for at once; one by default. */
  readonly concurrency?: number
  readonly objectOf: (item: T) => ManagedObjectReference
  /** Makes one call. Throws a VCenterError. */
  readonly call: (items: readonly T[]) => Promise<void>
  /** Takes an object that vCenter refuses: its fault names the object, or the call was about no other. */
  readonly onRefused: (item: T, fault: SoapFault) => void
}

/**
 * Makes the call for all objects but the refused ones. vCenter refuses the whole call where one object may not be seen or is
 * gone. An object that the fault names is left out; where it names another (often the root folder), the refused ones are
 * found by bisection. Returns the objects that would take too many calls: nothing is known of them, and the next attempt
 * is to begin with them. Throws the first failure that is not about single objects, when no call is under way any more.
 */
export async function callWithoutRefused<T>(batches: Batches<T>): Promise<readonly T[]> {
  const { groups, concurrency = 1, objectOf, call, onRefused } = batches
  const whole = groups.filter((group) => group.length > 0)
  const left: (readonly T[])[] = []

  async function attempt(items: readonly T[]): Promise<void> {
    try {
      await call(items)
    } catch (error) {
      if (!isRefusal(error)) throw error
      const culprit = culpritOf(error, items, objectOf)
      if (culprit === undefined) {
        const half = items.length >> 1
        left.push(items.slice(half), items.slice(0, half))
        return
      }
      onRefused(culprit, error)
      const others = items.filter((each) => each !== culprit)
      if (others.length > 0) left.push(others)
    }
  }

  // Each group once, then depth first: each attempt finds some, however many are refused.
  const failures: unknown[] = []
  const inTurn = async () => {
    try {
      for (let items = whole.shift(); items !== undefined; items = whole.shift()) await attempt(items)
    } catch (error) {
      failures.push(error)
      whole.length = 0
    }
  }
  await Promise.all(Array.from({ length: concurrency }, inTurn))
  if (failures.length > 0) throw failures[0]
  for (let extra = 0; extra < MAX_EXTRA_CALLS; extra++) {
    const items = left.pop()
    if (items === undefined) break
    await attempt(items)
  }
  return left.toReversed().flat()
}

/** Whether the fault is about objects of the call, not about what the call was sent to, or the session. */
function isRefusal(error: unknown): error is SoapFault {
  if (!(error instanceof SoapFault) || isRebuild(error)) return false
  return error.fault === 'NoPermission' || error.fault === 'ManagedObjectNotFound'
}

/** The refused object, if known: the one that the fault names, or the only one. */
function culpritOf<T>(
  fault: SoapFault,
  items: readonly T[],
  objectOf: (item: T) => ManagedObjectReference,
): T | undefined {
  return items.length === 1 ? items[0] : items.find((item) => namesObject(fault, objectOf(item)))
}
