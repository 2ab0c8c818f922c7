/** The VMs with one BIOS UUID: which may have it, which are read, and what is answered once they are. No I/O. */
import { compact } from '../../lib/memory.ts'
import type { VCenterFailure } from '../../types/inventory.ts'
import type { VMReads } from '../collect/read-machines.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import { VCenterError } from '../wire/errors.ts'
import { keyOf, vmReference } from '../wire/managed-object-reference.ts'

/** As many VMs with one UUID as a search makes us read. More are no mistake of people, and each read would cost more. */
const MAX_FOUND = 64
/**
 * As many as those that are seen to take the UUID make of them. They have room of their own, so that a machine that comes
 * later than 64 copies is read.
 */
const MAX_READ = 128
/** As many VMs as one UUID is seen with; a search finds the others. */
const MAX_SEEN = 64
/** How often a VM is read again that lost a UUID although push has not reported another. */
const MAX_LOOKS = 12
/** Most VMs whose last pushed UUID is remembered, and most that wait to be read again. */
const MAX_TOLD = 1_000

/** The VMs with a UUID, and why there are more than these; see {@link Lookup}. */
export interface VMAnswer {
  readonly vms: readonly VMProperties[]
  readonly incomplete?: Pick<VCenterFailure, 'reason' | 'message'>
}

/** What is known of one followed UUID. */
export class UUIDEntry {
  /** VMs that have the UUID, or had it when last seen. */
  vms: readonly string[] = []
  state: 'pending' | 'answered' | { readonly error: VCenterError } = 'pending'
  incomplete: VMAnswer['incomplete'] | undefined
  readonly expected = new ExpectedVMs()
  /** Until when vCenter was known to show these VMs; undefined while it is. */
  shownUntil: number | undefined
  /** How the last VM was lost; undefined where none was seen. `read` is the last read of all VMs that had begun by then. */
  lost: { readonly read: number; readonly shownUntil: number } | undefined
}

/** VMs that are to be read whether or not a search finds them, and how far that is. */
export class ExpectedVMs {
  /** Made when there is one: an empty map for each UUID would be a quarter of a kilobyte. */
  #vms: Map<string, 'wanted' | 'being read' | 'read'> | undefined

  /** Expects this VM; returns whether it is still to be read. */
  awaits(vm: string): boolean {
    this.#vms ??= new Map()
    const progress = this.#vms.get(vm) ?? 'wanted'
    this.#vms.set(vm, progress)
    return progress !== 'read'
  }

  /** All that were ever expected; to be called when a read begins. */
  take(): readonly string[] {
    if (this.#vms === undefined) return []
    for (const [vm, progress] of this.#vms) if (progress === 'wanted') this.#vms.set(vm, 'being read')
    return [...this.#vms.keys()]
  }

  /** The read has ended; returns whether anything was awaited of it. */
  settle(): boolean {
    const awaited = [...(this.#vms ?? [])].filter(([, progress]) => progress === 'being read')
    for (const [vm] of awaited) this.#vms?.set(vm, 'read')
    return awaited.length > 0
  }

  /** Whether any was expected since the read began. */
  areWanted(): boolean {
    return [...(this.#vms?.values() ?? [])].includes('wanted')
  }

  forget(): void {
    this.#vms = undefined
  }
}

/**
 * VMs that vCenter has reported with a followed UUID and that are not known to have it, until that UUID is searched for.
 *
 * Push reports only what differs from its last report. If a VM's UUID changes and changes back between two reports, and the VM is
 * read in between, push never corrects what was read. So a VM that had a UUID, and another one when it was read, is read again a few
 * times. This is not needed once push has reported another UUID: then it also reports when the first one returns.
 */
export class Sightings {
  #seen = new Map<string, Set<string>>()
  /** VMs that had another UUID when they were read, with the number of looks that are left. */
  readonly #lost = new Map<string, { readonly uuid: string; readonly vm: string; looks: number }>()
  /** The UUID that push last reported, by VM. */
  readonly #told = new Map<string, string>()

  /** Returns false where it is there already, or there are too many. */
  add(uuid: string, vm: string): boolean {
    const vms = this.#seen.get(uuid)
    if (vms === undefined) this.#seen.set(uuid, new Set([vm]))
    else if (vms.size < MAX_SEEN && !vms.has(vm)) vms.add(vm)
    else return false
    return true
  }

  /** To be called with each UUID that push reports. */
  tell(vm: string, uuid: string): void {
    this.#told.delete(vm)
    this.#told.set(compact(vm), compact(uuid))
    dropOldest(this.#told)
    this.#endLooks((lost) => lost.vm === vm && lost.uuid !== uuid)
  }

  /** To be called for a VM that had the UUID, or was found or seen with it, and had another when it was read. */
  lose(uuid: string, vm: string): void {
    const key = `${uuid} ${vm}`
    if ((this.#told.get(vm) ?? uuid) !== uuid || this.#lost.has(key)) return
    this.#lost.set(key, compact({ uuid, vm, looks: MAX_LOOKS }))
    dropOldest(this.#lost)
  }

  /** Adds those that are to be read again. A look that is still to come is counted once. */
  lookAgain(): void {
    for (const lost of this.#lost.values()) if (lost.looks > 0 && this.add(lost.uuid, lost.vm)) lost.looks--
  }

  /** Forgets those that are known by now: a VM may be seen before the first search for its UUID is answered. */
  settle(isUnknown: (uuid: string, vm: string) => boolean): void {
    for (const [uuid, vms] of this.#seen) {
      for (const vm of vms) if (!isUnknown(uuid, vm)) vms.delete(vm)
      if (vms.size === 0) this.#seen.delete(uuid)
    }
    this.#endLooks(({ uuid, vm }) => !isUnknown(uuid, vm))
  }

  #endLooks(matches: (lost: { readonly uuid: string; readonly vm: string }) => boolean): void {
    for (const [key, lost] of this.#lost) if (matches(lost)) this.#lost.delete(key)
  }

  /** All VMs by UUID, which are forgotten. */
  take(): ReadonlyMap<string, ReadonlySet<string>> {
    const taken = this.#seen
    this.#seen = new Map()
    return taken
  }

  /** How many UUIDs there are. */
  size(): number {
    return this.#seen.size
  }
}

function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys()
  if (map.size > MAX_TOLD && oldest !== undefined) map.delete(oldest)
}

/** The VMs that may have a UUID. Most UUIDs have one or none, and sets of them would be a kilobyte for each. */
export interface VMCandidates {
  /** Those that have it, or had it when last seen. */
  readonly before: readonly string[]
  /** Those that a search finds. */
  readonly found: readonly string[]
  /** Those that are read, in this order. */
  readonly read: readonly string[]
  /** How many others there are. */
  readonly omitted: number
  /** Whether the search was made just now. */
  readonly fresh: boolean
}

/** Chooses which VMs are read for a UUID. Copies must not crowd out those that had it before, nor expected ones. */
export function chooseCandidates(
  known: {
    readonly before: readonly string[]
    readonly expected?: readonly string[]
    readonly seen: readonly string[]
  },
  { vms: found, fresh }: { readonly vms: readonly string[]; readonly fresh: boolean },
): VMCandidates {
  const { before, expected = [], seen } = known
  const read = new Set([...before, ...expected])
  const omitted = new Set<string>()
  const choose = (vms: readonly string[], limit: number) => {
    for (const vm of vms) {
      if (read.has(vm)) continue
      if (read.size < limit) read.add(vm)
      else omitted.add(vm)
    }
  }
  choose(seen, MAX_READ)
  choose(found, MAX_FOUND)
  return { before, found, read: [...read], omitted: omitted.size, fresh }
}

/**
 * The VMs with this UUID, or an error where none is known, or `stale` where the search result is out of date, or `unread`
 * where some were not read this time. One that may no longer be read is among them as it was, provided that another may, and
 * one that never was read makes the answer incomplete: hiding one VM from us must not hide the others.
 */
export function judgeCandidates(
  uuid: string,
  { before, found, read, omitted, fresh }: VMCandidates,
  { machines, gone, denied, left }: VMReads,
  earlier: {
    readonly lastKnown: (vm: string) => VMProperties | undefined
    readonly refusedBefore: (vm: string) => VCenterError | undefined
  },
): VMAnswer | VCenterError | 'stale' | 'unread' {
  const having: VMProperties[] = []
  const hidden: VMProperties[] = []
  let refused: VCenterError | undefined
  let unknown: VCenterError | undefined
  let someLeft = false
  for (const vm of read) {
    const key = keyOf(vmReference(vm))
    const machine = machines.get(vm)
    const matches = machine?.biosUUID === uuid
    // A VM that was only seen with the UUID counts if it still has it, and is not a reason to fail.
    if (!matches && !before.includes(vm) && !found.includes(vm)) continue
    const isLeft = left.has(key)
    let refusal = isLeft ? earlier.refusedBefore(vm) : denied.get(key)
    if (isLeft && refusal === undefined) return 'unread'
    if (refusal === undefined && found.includes(vm) && !matches) {
      if (!fresh) return 'stale'
      if (machine === undefined && !gone.has(key)) refusal = notShown(vm, uuid)
    }
    if (refusal !== undefined) {
      someLeft ||= isLeft
      refused ??= refusal
      const was = before.includes(vm) ? earlier.lastKnown(vm) : undefined
      if (was === undefined) unknown ??= refusal
      else hidden.push(was)
    } else if (
      machine !== undefined &&
      (matches || (machine.biosUUID === undefined && before.includes(vm)))
    ) {
      // A known VM without a UUID has become inaccessible.
      having.push(machine)
    }
  }
  if (refused !== undefined && having.length === 0) return someLeft ? 'unread' : refused
  const vms = [...having, ...hidden]
  if (omitted > 0) return { vms, incomplete: tooMany(uuid, omitted) }
  if (unknown === undefined) return { vms }
  const { reason, message } = unknown
  return { vms, incomplete: { reason, message } }
}

function notShown(vm: string, uuid: string): VCenterError {
  return new VCenterError(
    'NoPermission',
    `the VM ${vm} has the UUID ${uuid} but vCenter does not show it; give the account the role Read-only on it`,
  )
}

function tooMany(uuid: string, omitted: number): NonNullable<VMAnswer['incomplete']> {
  return {
    reason: 'AmbiguousUUID',
    message: `so many VMs have the UUID ${uuid} that ${omitted} of them are not read; find out who makes them, or which template sets it, and give each a UUID of its own (uuid.bios)`,
  }
}
