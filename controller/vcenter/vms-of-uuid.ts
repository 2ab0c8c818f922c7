/** The VMs with a BIOS UUID: which are read, and what is answered once they are. No I/O. */

import type { VMAnswer } from './cache/vm-answer.ts'
import type { UnreadObjects } from './collect/read-machines.ts'
import type { VMProperties } from './properties/resync-properties.ts'
import { VCenterError } from './wire/errors.ts'
import { keyOf, vmReference } from './wire/managed-object-reference.ts'

/** As many VMs with one UUID as a search makes us read. More are no mistake of people, and each read would cost more. */
const MAX_FOUND = 64
/**
 * As many as those that are seen to take the UUID make of them. They have room of their own, so that a machine that comes
 * later than 64 copies is read.
 */
const MAX_READ = 128

/** The VMs that may have a UUID. */
export interface VMCandidates {
  /** Those that have it, or had it when last seen. */
  readonly before: ReadonlySet<string>
  /** Those that a search finds. */
  readonly found: ReadonlySet<string>
  /** Those that are read, in this order. */
  readonly read: ReadonlySet<string>
  /** How many others there are. */
  readonly omitted: number
  /** Whether the search was made just now. */
  readonly fresh: boolean
}

/** Where the VMs are known from that may have a UUID; those that a search finds come on top. */
interface CandidateSources {
  readonly before: readonly string[]
  readonly expected?: readonly string[]
  readonly seen: readonly string[]
}

/** Chooses which VMs are read for a UUID. Whoever makes copies must not keep those from before from it, nor expected ones. */
export function chooseCandidates(
  { before, expected = [], seen }: CandidateSources,
  { vms: found, fresh }: { readonly vms: readonly string[]; readonly fresh: boolean },
): VMCandidates {
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
  return { before: new Set(before), found: new Set(found), read, omitted: omitted.size, fresh }
}

/** What is known of VMs from before. */
export interface Earlier {
  readonly lastKnown: (vm: string) => VMProperties | undefined
  readonly refusedBefore: (vm: string) => VCenterError | undefined
}

/**
 * The VMs with this UUID, or an error where none is known, or `stale` where the search result is out of date, or `unread`
 * where some were not read this time. One that may no longer be read is among them as it was, provided that another may, and
 * one that never was read makes the answer incomplete: whoever takes a VM out of our sight must not hide the others.
 */
export function judgeCandidates(
  uuid: string,
  { before, found, read, omitted, fresh }: VMCandidates,
  { machines, gone, denied, left }: UnreadObjects & { readonly machines: ReadonlyMap<string, VMProperties> },
  { lastKnown, refusedBefore }: Earlier,
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
    // One that was only seen with the UUID counts where it has it still, and is no reason to fail.
    if (!matches && !before.has(vm) && !found.has(vm)) continue
    const isLeft = left.has(key)
    let refusal = isLeft ? refusedBefore(vm) : denied.get(key)
    if (isLeft && refusal === undefined) return 'unread'
    if (refusal === undefined && found.has(vm) && !matches) {
      if (!fresh) return 'stale'
      if (machine === undefined && !gone.has(key)) refusal = notShown(vm, uuid)
    }
    if (refusal !== undefined) {
      someLeft ||= isLeft
      refused ??= refusal
      const was = before.has(vm) ? lastKnown(vm) : undefined
      if (was === undefined) unknown ??= refusal
      else hidden.push(was)
    } else if (machine !== undefined && (matches || (machine.biosUUID === undefined && before.has(vm)))) {
      // A known VM without a UUID has become inaccessible.
      having.push(machine)
    }
  }
  if (refused !== undefined && having.length === 0) return someLeft ? 'unread' : refused
  const vms = [...having, ...hidden]
  if (unknown === undefined) return omitted === 0 ? { vms } : { vms, incomplete: tooMany(uuid, omitted) }
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
