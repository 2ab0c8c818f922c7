/** Joins ancestors and tags: the host, cluster, datacenter and tags of a VM. */
import type { Ancestor, Ancestry } from '../../types/virtual-machine.ts'
import type { ObjectTags } from '../collect/tags.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import { keyOf, type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { type AncestorNode, type AncestorTree, createAncestorTree } from './ancestors.ts'
import { unreadablePlace } from './unreadable.ts'

export interface VMLocation {
  readonly host: string | undefined
  readonly cluster: string | undefined
  readonly datacenter: string | undefined
  readonly ancestry: Ancestry | undefined
}

export interface VMLocations {
  readonly tree: AncestorTree
  /** Replaces the tree by one that was read anew. */
  replaceTree(tree: AncestorTree): void
  /** Sets the tags of these objects. */
  putTags(tags: ReadonlyMap<string, ObjectTags>): void
  /** Drops the tags of all other objects. */
  keepTags(objects: readonly ManagedObjectReference[]): void
  hasTags(object: ManagedObjectReference): boolean
  /** Whether some of its tags could not be read. */
  hasProblems(object: ManagedObjectReference): boolean
  /** The objects whose tags count: the VM itself and all readable objects above it. */
  tagged(machine: VMProperties): ManagedObjectReference[]
  place(machine: VMProperties): VMLocation
}

interface Path {
  readonly ancestors: readonly Ancestor[]
  readonly unreadable: readonly string[]
  readonly unreadableAbove: Ancestry['unreadableAbove']
  /** Whether the tags of all are known. */
  readonly complete: boolean
}

const NO_TAGS: ObjectTags = { tags: [], problems: [] }

/** @param tagging whether tags are used at all; without them nothing waits for tags */
export function createVMLocations({ tagging }: { readonly tagging: boolean }): VMLocations {
  let tree = createAncestorTree()
  let tags = new Map<string, ObjectTags>()
  // VMs with the same ancestors share one path in memory.
  let paths = new Map<string, Path>()

  function tagsOf(object: ManagedObjectReference): ObjectTags | undefined {
    return tagging ? tags.get(keyOf(object)) : NO_TAGS
  }

  function path(start: ManagedObjectReference | undefined): Path {
    if (start === undefined)
      return { ancestors: [], unreadable: [], unreadableAbove: undefined, complete: true }
    const known = paths.get(keyOf(start))
    if (known !== undefined) return known
    const made = join(tree.chain(start), tagsOf)
    paths.set(keyOf(start), made)
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
    putTags(more) {
      for (const [key, value] of more) tags.set(key, value)
      paths = new Map()
    },
    keepTags(objects) {
      const kept = objects.map(keyOf).flatMap((key) => {
        const value = tags.get(key)
        return value === undefined ? [] : [[key, value] as const]
      })
      tags = new Map(kept)
      paths = new Map()
    },
    hasTags: (object) => tagsOf(object) !== undefined,
    hasProblems: (object) => (tagsOf(object)?.problems ?? []).length > 0,
    tagged(machine) {
      const objects = new Map([[machine.moref, self(machine).reference]])
      for (const start of [machine.host, machine.resourcePool, machine.parent, machine.vApp]) {
        for (const { reference, readable } of tree.chain(start))
          if (readable) objects.set(keyOf(reference), reference)
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
        ancestry: all.every((each) => each.complete)
          ? {
              compute: compute.ancestors,
              resourcePool: resourcePool.ancestors,
              folder: [...own.ancestors, ...above.ancestors],
              ...(above.unreadableAbove === undefined ? {} : { unreadableAbove: above.unreadableAbove }),
              unreadable: [...unreadablePlace(machine), ...new Set(all.flatMap((each) => each.unreadable))],
            }
          : undefined,
      }
    },
  }
}

function self({ moref, name, parent }: VMProperties): AncestorNode {
  return { reference: vmReference(moref), name, parent, readable: true }
}

function join(
  nodes: readonly AncestorNode[],
  tagsOf: (object: ManagedObjectReference) => ObjectTags | undefined,
): Path {
  const ancestors: Ancestor[] = []
  const unreadable: string[] = []
  let unreadableAbove: Ancestry['unreadableAbove']
  let complete = true
  for (const { reference, name, readable } of nodes) {
    if (!readable) {
      unreadable.push(`${reference.type} ${reference.value} is not readable`)
      unreadableAbove ??= { type: reference.type, moref: reference.value }
      continue
    }
    const known = tagsOf(reference)
    complete &&= known !== undefined
    for (const problem of known?.problems ?? []) unreadable.push(`${reference.type} ${name}: ${problem}`)
    ancestors.push({ type: reference.type, moref: reference.value, name, tags: known?.tags ?? [] })
  }
  return { ancestors, unreadable, unreadableAbove, complete }
}
