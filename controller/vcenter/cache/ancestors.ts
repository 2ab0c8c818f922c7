/** The managed objects above the VMs: one tree for all VMs, with each object in it once. */

import type { ObjectContent } from '../collect/object-content.ts'
import {
  lenientFilterSpec,
  objectSpec,
  propertySpec,
  selection,
  traversal,
} from '../collect/retrieve-properties.ts'
import { readName } from '../properties/property-values.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { detach } from '../wire/xml.ts'

/** No inventory is this deep, unless a broken one has a loop. */
const MAX_DEPTH = 64

export interface AncestorNode {
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
      nodes.set(keyOf(reference), { reference, name: reference.value, parent: undefined, readable: false })
    },
    chain(start) {
      const chain: AncestorNode[] = []
      let next = start
      while (next !== undefined && chain.length < MAX_DEPTH) {
        const node: AncestorNode = nodes.get(keyOf(next)) ?? {
          reference: next,
          name: next.value,
          parent: undefined,
          readable: false,
        }
        chain.push(node)
        next = node.parent
      }
      return chain
    },
  }
}
