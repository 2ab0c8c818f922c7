/** Where a VM is, by the objects above it and their tags: host, cluster, datacenter. */
import { isDeepStrictEqual } from 'node:util'
import { compact } from '../../lib/memory.ts'
import {
  type Ancestor,
  type Ancestry,
  type Tag,
  type TagLack,
  type UnreadTags,
  type VirtualMachine,
  WAYS,
  type Way,
} from '../../types/virtual-machine.ts'
import { unreadableSteps } from '../collect/refusals.ts'
import type { ObjectTags } from '../collect/tags.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import { keyOf, type ManagedObjectReference, vmOfKey, vmReference } from '../wire/managed-object-reference.ts'
import { type AncestorNode, type AncestorTree, createAncestorTree } from './ancestors.ts'

/** Joins ancestors and tags: where a VM is. */
export interface VMLocations {
  readonly tree: AncestorTree
  /** Replaces the tree by one that was just read. */
  replaceTree(tree: AncestorTree): void
  /** Another vCenter answers from now on: by the same references it has other objects. */
  forgetAll(): void
  /** Sets the tags of these objects; returns the keys of those that had others before. */
  putTags(tags: ReadonlyMap<string, ObjectTags>): readonly string[]
  /** Sets which categories have no tag; returns whether these are others than before. */
  putLacking(lacking: ReadonlyMap<string, TagLack>): boolean
  lacking(): ReadonlyMap<string, TagLack>
  /** Drops the tags of all other objects. */
  keepTags(objects: readonly ManagedObjectReference[]): void
  hasTags(object: ManagedObjectReference): boolean
  /** Its tags, as far as they are known. */
  tagsOf(object: ManagedObjectReference): readonly Tag[]
  /** Whether some of its tags could not be read. */
  hasProblems(object: ManagedObjectReference): boolean
  /** The objects whose tags count: these VMs and all readable objects above them. */
  tagged(machines: readonly VMProperties[]): ManagedObjectReference[]
  place(machine: VMProperties): Pick<VirtualMachine, 'host' | 'cluster' | 'datacenter' | 'ancestry'>
}

const NO_TAGS: ObjectTags = { tags: [], problems: [] }

/** @param tagging whether tags are used at all; without them nothing waits for tags */
export function createVMLocations({ tagging }: { readonly tagging: boolean }): VMLocations {
  let tree = createAncestorTree()
  let tags = new Map<string, ObjectTags>()
  let lacking: ReadonlyMap<string, TagLack> = new Map()
  // VMs with the same ancestors share one path in memory.
  let paths = new Map<string, ReturnType<typeof join>>()

  function tagsOf(object: ManagedObjectReference): ObjectTags | undefined {
    return tagging ? tags.get(keyOf(object)) : NO_TAGS
  }

  function path(start: ManagedObjectReference | undefined): ReturnType<typeof join> {
    if (start === undefined) return join([], tagsOf)
    const known = paths.get(keyOf(start))
    if (known !== undefined) return known
    const made = join(tree.chain(start), tagsOf)
    // What was never read will be: a VM may have moved to a host that none had before.
    if (tree.has(start)) paths.set(keyOf(start), made)
    return made
  }

  return {
    get tree() {
      return tree
    },
    replaceTree(fresh) {
      tree = fresh
      paths = new Map()
    },
    forgetAll() {
      tree = createAncestorTree()
      tags = new Map()
      lacking = new Map()
      paths = new Map()
    },
    putTags(more) {
      const others = [...more].filter(([key, value]) => !isDeepStrictEqual(tags.get(key), value))
      for (const [key, value] of others) tags.set(key, value)
      const changed = others.map(([key]) => key)
      // Nothing is below a VM.
      if (changed.some((key) => vmOfKey(key) === undefined)) paths = new Map()
      return changed
    },
    putLacking(now) {
      // Views are compared by identity first: an equal copy would be compared entry by entry for each VM.
      if (isDeepStrictEqual(lacking, now)) return false
      lacking = now
      return true
    },
    lacking: () => lacking,
    keepTags(objects) {
      const kept = objects.map(keyOf).flatMap((key) => {
        const value = tags.get(key)
        return value === undefined ? [] : [[key, value] as const]
      })
      tags = new Map(kept)
      paths = new Map()
    },
    hasTags: (object) => tagsOf(object) !== undefined,
    tagsOf: (object) => tagsOf(object)?.tags ?? [],
    hasProblems: (object) => (tagsOf(object)?.problems ?? []).length > 0,
    tagged(machines) {
      const objects = new Map<string, ManagedObjectReference>()
      for (const machine of machines) {
        objects.set(machine.moref, vmReference(machine.moref))
        for (const start of startsOf(machine)) {
          // Whatever is above it came with it.
          if (objects.has(keyOf(start))) continue
          for (const { reference, readable } of tree.chain(start))
            if (readable) objects.set(keyOf(reference), reference)
        }
      }
      return [...objects.values()]
    },
    place(machine) {
      const compute = path(machine.host)
      const resourcePool = path(machine.resourcePool)
      const own = join([self(machine)], tagsOf)
      // A VM in a vApp has no folder of its own.
      const above = path(machine.parent ?? machine.vApp)
      const all = [compute, resourcePool, own, above]
      const datacenter = [...above.ancestors, ...compute.ancestors].find((each) => each.type === 'Datacenter')
      return {
        host: compute.ancestors.find((each) => each.type === 'HostSystem')?.name,
        cluster: compute.ancestors.find((each) => each.type === 'ClusterComputeResource')?.name,
        datacenter: datacenter?.name,
        // A host that was just pushed is not known before it is read, and a farther tag must not count until then.
        ancestry:
          startsOf(machine).every(tree.has) && all.every((each) => each.complete)
            ? {
                compute: compute.ancestors,
                resourcePool: resourcePool.ancestors,
                // A list made by spreading two would keep room for 16 more.
                folder: own.ancestors.concat(above.ancestors),
                ...(above.unreadableAbove === undefined ? {} : { unreadableAbove: above.unreadableAbove }),
                unreadable: compact([
                  ...WAYS.flatMap((way) => unreadableSteps(machine, way)),
                  ...new Set(all.flatMap((each) => each.unreadable)),
                ]),
                ...unreadAbove(machine, { compute, resourcePool, folder: above }),
                ...(lacking.size > 0 ? { lacking } : {}),
              }
            : undefined,
      }
    },
  }
}

/** Where the ways up from a VM begin. */
function startsOf({ host, resourcePool, parent, vApp }: VMProperties): readonly ManagedObjectReference[] {
  return [host, resourcePool, parent, vApp].filter((start) => start !== undefined)
}

function self({ moref, name, parent }: VMProperties): AncestorNode {
  return { reference: vmReference(moref), name, parent, readable: true }
}

/** What could not be read above the last object of each way, where there is any. */
function unreadAbove(
  machine: VMProperties,
  ways: Readonly<Record<Way, Pick<ReturnType<typeof join>, 'unreadAbove'>>>,
): Pick<Ancestry, 'unreadAbove'> {
  const unread = WAYS.flatMap((way) => {
    const steps = unreadableSteps(machine, way).map((why) => ({ why, hidden: true as const }))
    const all: UnreadTags[] = [...steps, ...ways[way].unreadAbove]
    return all.length === 0 ? [] : [[way, all] as const]
  })
  return unread.length === 0 ? {} : { unreadAbove: Object.fromEntries(unread) }
}

const UNANSWERED =
  ' (vCenter answers other calls, but none about it; it is asked for again at growing intervals)'

/** The readable objects of a path, with their tags; `complete` where the tags of all are known. */
function join(
  nodes: readonly AncestorNode[],
  tagsOf: (object: ManagedObjectReference) => ObjectTags | undefined,
) {
  const ancestors: Ancestor[] = []
  const unreadable: string[] = []
  let unreadableAbove: Ancestry['unreadableAbove']
  let complete = true
  /** What could not be read above the last of the ancestors so far. */
  let unread: UnreadTags[] = []
  for (const { reference, name, readable, unanswered } of nodes) {
    if (!readable) {
      const why = `${reference.type} ${reference.value} is not readable${unanswered === true ? UNANSWERED : ''}`
      unreadable.push(why)
      unread.push({ why, hidden: true })
      unreadableAbove ??= { type: reference.type, moref: reference.value }
      continue
    }
    const known = tagsOf(reference)
    complete &&= known !== undefined
    for (const problem of known?.problems ?? []) {
      const why = `${reference.type} ${name}: ${problem.why}`
      unreadable.push(why)
      unread.push({ ...problem, why })
    }
    ancestors.push({
      type: reference.type,
      moref: reference.value,
      name,
      tags: known?.tags ?? [],
      ...(unread.length > 0 ? { unread } : {}),
    })
    unread = []
  }
  return { ancestors, unreadable, unreadableAbove, unreadAbove: unread, complete }
}
