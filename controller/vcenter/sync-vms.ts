/** Brings VMs of the cache up to date: locates them by UUID, reads them, and reads what stands above them. */
import { ABOVE_MACHINE, ANCESTOR_PROPERTIES, createAncestorTree, readAncestors } from './cache/ancestors.ts'
import type { VMLocations } from './cache/vm-locations.ts'
import type { Changes, VMStore } from './cache/vm-store.ts'
import { chooseCandidates, judgeCandidates, type Sightings, type VMAnswer } from './cache/vms-of-uuid.ts'
import type { createLocator, Located } from './collect/locate.ts'
import { type createSuspects, readMachines } from './collect/read-machines.ts'
import { refusalOf } from './collect/refusals.ts'
import {
  filterSpec,
  objectSpec,
  type PropertyReader,
  propertySpec,
  traversal,
} from './collect/retrieve-properties.ts'
import { keepPushed } from './properties/pushed-properties.ts'
import {
  isReconfigured,
  RESYNC_PATHS,
  refreshMachine,
  type VMProperties,
} from './properties/resync-properties.ts'
import type { VCenterError } from './wire/errors.ts'
import { keyOf, type ManagedObjectReference, vmReference } from './wire/managed-object-reference.ts'

export interface SyncVMsOptions {
  readonly store: VMStore
  readonly locations: VMLocations
  readonly locator: Pick<ReturnType<typeof createLocator>, 'locate' | 'forget'>
  readonly sightings: Sightings
  readonly reader: PropertyReader
  readonly suspects: ReturnType<typeof createSuspects>
  /** Called when a group of UUIDs is answered. */
  readonly onAnswered: () => void
}

/**
 * VMs that are read before their UUIDs are answered: ten thousand in one go would let each of their Nodes wait for all. The first
 * groups are small, each twice as large as the one before, so that the first Nodes wait for few.
 */
const GROUP = { first: 250, most: 2_000 }

/**
 * Locates all wanted UUIDs, and those that vCenter has told another VM to have, and answers group after group. Throws when
 * vCenter fails as a whole; unanswered UUIDs stay wanted.
 */
export async function locateWanted(options: SyncVMsOptions, signal: AbortSignal): Promise<void> {
  const { store, locator, sightings } = options
  const seen = sightings.take()
  for (const uuid of seen.keys()) store.want(uuid)
  locator.forget(seen.keys())
  // Those that were seen come last: a VM that keeps taking new UUIDs must not keep new Nodes waiting.
  const uuids = store.wanted().toSorted((a, b) => Number(seen.has(a)) - Number(seen.has(b)))
  if (uuids.length === 0) return
  const asOf = store.wants()
  const located = await locator.locate(uuids, signal)
  // VMs whose UUIDs are searched for later are not read yet: each round would read all of them again.
  for (const [uuid, vms] of seen) if (!located.has(uuid)) for (const vm of vms) sightings.add(uuid, vm)
  let group: Searched[] = []
  let size = 0
  let most = GROUP.first
  for (const [uuid, answer] of located) {
    const searched = searchedFor(uuid, answer, seen.get(uuid), store)
    group.push(searched)
    size += searched.candidates.read.length
    if (size < most) continue
    await answerSearched(options, group, asOf, signal)
    group = []
    size = 0
    most = Math.min(2 * most, GROUP.most)
  }
  if (group.length > 0) await answerSearched(options, group, asOf, signal)
}

/** What a search for one UUID has found. */
interface Searched {
  readonly uuid: string
  readonly error: VCenterError | undefined
  readonly seen: readonly string[]
  readonly candidates: ReturnType<typeof chooseCandidates>
}

/**
 * VMs that had the UUID are also read by moref: no search finds an inaccessible VM. So are those that were seen with it, for a
 * search may be late to find them.
 */
function searchedFor(
  uuid: string,
  answer: Located,
  seenWith: ReadonlySet<string> | undefined,
  store: VMStore,
): Searched {
  const seen = [...(seenWith ?? [])]
  const error = 'error' in answer ? answer.error : undefined
  const found = 'error' in answer ? NOT_FOUND : answer
  const known = { before: store.vmsOf(uuid), expected: store.takeExpected(uuid), seen }
  return { uuid, error, seen, candidates: chooseCandidates(known, found) }
}

/** Reads the VMs that these UUIDs may belong to, and answers for the UUIDs. */
async function answerSearched(
  { store, locator, sightings, suspects, reader, locations, onAnswered }: SyncVMsOptions,
  group: readonly Searched[],
  asOf: number,
  signal: AbortSignal,
): Promise<void> {
  const vms = new Set(group.flatMap(({ candidates }) => candidates.read))
  const before = new Map([...vms].map((vm) => [vm, store.machine(vm)]))
  const lastKnown = (vm: string) => store.machine(vm)
  const { machines: read, ...unread } = await suspects.read([...vms], lastKnown, signal)
  await readAncestors(locations.tree, reader, [...read.values()], signal)
  const earlier = { lastKnown, refusedBefore: suspects.refusalOf }
  const results = { machines: withPushed(read, before, store), ...unread }

  const answers = new Map<string, VMAnswer | VCenterError>()
  const postponed: string[] = []
  const parked: string[] = []
  const isParked = (vm: string) => reader.quarantine?.held(keyOf(vmReference(vm)))?.alone === false
  for (const { uuid, error, seen, candidates } of group) {
    const verdict = error ?? judgeCandidates(uuid, candidates, results, earlier)
    if (verdict === 'stale') {
      locator.forget([uuid])
      for (const vm of seen) sightings.add(uuid, vm)
    } else if (verdict === 'unread') (candidates.read.some(isParked) ? parked : postponed).push(uuid)
    else answers.set(uuid, verdict)
    for (const vm of [...candidates.before, ...candidates.found, ...seen]) {
      const has = results.machines.get(vm)?.biosUUID
      if (has !== undefined && has !== uuid) sightings.lose(uuid, vm)
    }
  }
  store.answer(answers, asOf)
  store.postpone(postponed)
  store.park(parked)
  onAnswered()
}

const NOT_FOUND = { vms: [], fresh: false }

/** Whether a VM has moved to another host, or to an unknown one. */
export function hasMoved(
  { host }: VMProperties,
  before: VMProperties | undefined,
  { tree }: Pick<VMLocations, 'tree'>,
): boolean {
  if (host === undefined) return false
  return !tree.has(host) || before?.host === undefined || keyOf(before.host) !== keyOf(host)
}

/** Whether it has another host since its folder and its resource pool were read. They are read again at once. */
export function isMoving({ host, placedOn }: VMProperties): boolean {
  return host !== undefined && (placedOn === undefined || keyOf(placedOn) !== keyOf(host))
}

/**
 * Reads VMs again, and new objects above them: a VM that moved to another host may also have another folder and resource
 * pool, and neither is pushed. A VM that is no longer shown, or `refused`, is searched for again.
 */
export async function readAgain(
  { store, locations, reader }: SyncVMsOptions,
  vms: readonly string[],
  signal: AbortSignal,
): Promise<Changes & { readonly refused: ReadonlyMap<string, VCenterError | undefined> }> {
  const before = new Map(vms.map((vm) => [vm, store.machine(vm)]))
  const { machines, denied, parked } = await readMachines(reader, vms, (vm) => store.machine(vm), signal)
  const areNew = await readAncestors(locations.tree, reader, [...machines.values()], signal)
  const updated = store.update([...withPushed(machines, before, store).values()])
  // Other VMs may have moved below the same.
  if (areNew) store.refresh()
  const refused = vms.filter((vm) => !machines.has(vm))
  const why = new Map(refused.map((vm) => [vm, denied.get(keyOf(vmReference(vm)))] as const))
  // Those that were read together with a bad one are read again soon, and stay what they were until then.
  const left = refused.filter((vm) => !parked.has(keyOf(vmReference(vm))))
  return { ...together(updated, store.leave(left)), refused: why }
}

/**
 * Does the work of {@link resync} for these VMs and all objects above any VM, where one of them fails the call for all. What is
 * above the VM whose host fails is unknown afterwards, until it may be read again.
 */
export async function resyncApart(
  sync: SyncVMsOptions,
  vms: readonly string[],
  signal: AbortSignal,
): Promise<Changes> {
  const { store, locations, reader } = sync
  const changes = await readAgain(sync, vms, signal)
  const tree = createAncestorTree()
  await readAncestors(tree, reader, store.machines(), signal)
  locations.replaceTree(tree)
  store.refresh()
  return changes
}

function together(one: Changes, other: Changes): Changes {
  return { vms: [...one.vms, ...other.vms], doubted: [...one.doubted, ...other.doubted] }
}

function withPushed(
  read: ReadonlyMap<string, VMProperties>,
  before: ReadonlyMap<string, VMProperties | undefined>,
  store: VMStore,
): ReadonlyMap<string, VMProperties> {
  return new Map(
    Array.from(read, ([vm, machine]) => [vm, keepPushed(machine, before.get(vm), store.machine(vm))]),
  )
}

/** What selects all members of the list, and all objects above them. */
export function membersSpecs({ vmPaths = [] }: PropertyReader, listView: ManagedObjectReference) {
  const properties = propertySpec('VirtualMachine', [...RESYNC_PATHS, ...vmPaths]) + ANCESTOR_PROPERTIES
  const members = objectSpec(listView, true, traversal('members', 'ListView', 'view', ABOVE_MACHINE))
  return [filterSpec(properties, members)]
}

/**
 * Reads all members of the list and all objects above them in one go, and corrects what push has missed. Some changes are
 * never pushed: CPUs, memory, names, moves between folders, disconnected hosts. Properties of the configuration are read
 * again only for VMs whose configuration has changed.
 */
export async function resync(
  { store, locations, reader }: SyncVMsOptions,
  listView: ManagedObjectReference,
  isMember: (vm: string) => boolean,
  signal: AbortSignal,
): Promise<Changes> {
  const before = new Map(store.machines().map((machine) => [machine.moref, machine]))
  const expected = [...before.keys()].filter(isMember)
  const tree = createAncestorTree()
  const machines = new Map<string, VMProperties>()
  const reconfigured = new Set<string>()
  await reader.read(
    membersSpecs(reader, listView),
    (object) => {
      const { type, value } = object.reference
      const known = store.machine(value)
      if (type !== 'VirtualMachine') tree.put(object)
      else if (known === undefined) return
      else if (object.excess === undefined) {
        // A VM that may not be read sufficiently is treated as not shown, and is then read by itself.
        if (refusalOf(object, known) !== undefined) return
        machines.set(value, refreshMachine(known, object.properties, [...object.missing.keys()]))
        if (isReconfigured(known, object.properties)) reconfigured.add(value)
        // The known values stay.
      } else machines.set(value, known)
    },
    signal,
  )
  if (reconfigured.size > 0) {
    const again = await readMachines(reader, [...reconfigured], (vm) => store.machine(vm), signal)
    for (const vm of reconfigured) {
      const known = again.parked.has(keyOf(vmReference(vm))) ? before.get(vm) : undefined
      const machine = again.machines.get(vm) ?? known
      if (machine === undefined) machines.delete(vm)
      else machines.set(vm, machine)
    }
  }
  // VMs that are not on the list yet have ancestors too, as have VMs that were added meanwhile.
  await readAncestors(tree, reader, [...store.machines(), ...machines.values()], signal)
  locations.replaceTree(tree)
  const updated = store.update([...withPushed(machines, before, store).values()])
  store.refresh()
  // One that was taken off the list meanwhile is not on it, and may be there.
  return together(updated, store.leave(expected.filter((vm) => isMember(vm) && !machines.has(vm))))
}
