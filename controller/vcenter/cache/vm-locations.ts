/** The managed objects above the VMs, one tree for all, and where that puts a VM: host, cluster, datacenter and tags. */

import type { Ancestor, Ancestry, VirtualMachine } from '../../types/virtual-machine.ts'
import { unreadablePlace } from '../collect/refusals.ts'
import {
  lenientFilterSpec,
  type ObjectContent,
  objectSpec,
  propertySpec,
  selection,
  traversal,
} from '../collect/retrieve-properties.ts'
import type { ObjectTags } from '../collect/tags.ts'
import { readName } from '../properties/property-values.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import { keyOf, type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { detach } from '../wire/xml.ts'

/** No inventory is this deep, unless a broken one has a loop. */
const MAX_DEPTH = 64

interface AncestorNode {
  readonly reference: ManagedObjectReference
  readonly name: string
  readonly parent: ManagedObjectReference | undefined
  /** False for an object that vCenter did not show when asked, or whose name or parent the account may not read. */
  readonly readable: boolean
}

/** PropertySpecs for every type above a VM, including their subtypes (clusters, vApps). */
export const ANCESTOR_PROPERTIES = ['HostSystem', 'ComputeResource', 'ResourcePool', 'Folder', 'Datacenter']
  .map((type) => propertySpec(type, ['name', 'parent']))
  .join('')

const UP = traversal('up', 'ManagedEntity', 'parent', selection('up'))

/** Selections that traverse from a VM to everything above it. */
export const ABOVE_MACHINE = [
  UP,
  traversal('host', 'VirtualMachine', 'runtime.host', selection('up')),
  traversal('pool', 'VirtualMachine', 'resourcePool', selection('up')),
  traversal('vApp', 'VirtualMachine', 'parentVApp', selection('up')),
].join('')

/** PropertyFilterSpecs for these objects and all above them: one each, since selection names are scoped to one. */
export function ancestorSpecs(starts: readonly ManagedObjectReference[]): string[] {
  return starts.map((start) => lenientFilterSpec(ANCESTOR_PROPERTIES, objectSpec(start, false, UP)))
}

export interface AncestorTree {
  has(reference: ManagedObjectReference): boolean
  put(object: ObjectContent): void
  /** Records an object that was requested but not shown. */
  putUnreadable(reference: ManagedObjectReference): void
  /** From `start` to the root, nearest first; ends early at an object that was never read. */
  chain(start: ManagedObjectReference | undefined): AncestorNode[]
}

export function createAncestorTree(): AncestorTree {
  const nodes = new Map<string, AncestorNode>()
  return {
    has: (reference) => nodes.has(keyOf(reference)),
    put({ reference, properties, missing }) {
      const node = detach({
        reference,
        name: readName(properties.get('name')) ?? reference.value,
        parent: toReference(properties.get('parent')),
        // What stands above an object without a known parent would be left out silently.
        readable: missing.size === 0,
      })
      nodes.set(keyOf(node.reference), node)
    },
    putUnreadable(reference) {
      nodes.set(keyOf(reference), unreadable(reference))
    },
    chain(start) {
      const chain: AncestorNode[] = []
      let next = start
      while (next !== undefined && chain.length < MAX_DEPTH) {
        const node = nodes.get(keyOf(next)) ?? unreadable(next)
        chain.push(node)
        next = node.parent
      }
      return chain
    },
  }
}

function unreadable(reference: ManagedObjectReference): AncestorNode {
  return { reference, name: reference.value, parent: undefined, readable: false }
}

/** Joins ancestors and tags: where a VM is. */
export interface VMLocations {
  readonly tree: AncestorTree
  /** Replaces the tree by one that was just read. */
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
  place(machine: VMProperties): Pick<VirtualMachine, 'host' | 'cluster' | 'datacenter' | 'ancestry'>
}

const NO_TAGS: ObjectTags = { tags: [], problems: [] }

/** @param tagging whether tags are used at all; without them nothing waits for tags */
export function createVMLocations({ tagging }: { readonly tagging: boolean }): VMLocations {
  let tree = createAncestorTree()
  let tags = new Map<string, ObjectTags>()
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

/** The readable objects of a path, with their tags; `complete` where the tags of all are known. */
function join(
  nodes: readonly AncestorNode[],
  tagsOf: (object: ManagedObjectReference) => ObjectTags | undefined,
) {
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
