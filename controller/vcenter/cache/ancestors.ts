/** The managed objects above the VMs: one tree for all, each object kept once. */

import type { ObjectContent } from '../collect/object-content.ts'
import { lenientFilterSpec, objectSpec, propertySpec, selection, traversal } from '../collect/properties.ts'
import { detach } from '../wire/detach.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { readName } from './properties.ts'

/** No inventory is as deep; a loop in a broken one is. */
const MAX_DEPTH = 64

export interface AncestorNode {
  readonly reference: ManagedObjectReference
  readonly name: string
  readonly parent: ManagedObjectReference | undefined
  /** False for one that vCenter did not show when asked. */
  readonly readable: boolean
}

/** PropertySpecs for every type above a VM; those that extend one of them (clusters, vApps) are meant too. */
export const ANCESTOR_PROPERTIES = ['HostSystem', 'ComputeResource', 'ResourcePool', 'Folder', 'Datacenter']
  .map((type) => propertySpec(type, ['name', 'parent']))
  .join('')

const UP = traversal('up', 'ManagedEntity', 'parent', selection('up'))

/** Selections that lead from a VM to everything above it. */
export const ABOVE_MACHINE = [
  UP,
  traversal('host', 'VirtualMachine', 'runtime.host', selection('up')),
  traversal('pool', 'VirtualMachine', 'resourcePool', selection('up')),
  traversal('vApp', 'VirtualMachine', 'parentVApp', selection('up')),
].join('')

/** PropertyFilterSpecs for these objects and all above them: one each, for names of selections hold within one. */
export function ancestorSpecs(starts: readonly ManagedObjectReference[]): string[] {
  return starts.map((start) => lenientFilterSpec(ANCESTOR_PROPERTIES, objectSpec(start, false, UP)))
}

export interface AncestorTree {
  has(reference: ManagedObjectReference): boolean
  put(object: ObjectContent): void
  /** Notes an object that was asked for and not shown. */
  putUnreadable(reference: ManagedObjectReference): void
  /** From `start` to the root, nearest first; it ends early at what was never read. */
  chain(start: ManagedObjectReference | undefined): AncestorNode[]
}

export function createAncestorTree(): AncestorTree {
  const nodes = new Map<string, AncestorNode>()
  return {
    has: (reference) => nodes.has(keyOf(reference)),
    put({ reference, properties }) {
      const node = detach({
        reference,
        name: readName(properties.get('name')) ?? reference.value,
        parent: toReference(properties.get('parent')),
        readable: true,
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
