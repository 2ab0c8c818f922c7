/** The managed objects above the VMs, in one tree for all: what selects them, and how they are read. */
import { compact } from '../../lib/memory.ts'
import { readObjects } from '../collect/read-machines.ts'
import {
  lenientFilterSpec,
  type ObjectContent,
  objectSpec,
  type PropertyReader,
  propertySpec,
  selection,
  traversal,
} from '../collect/retrieve-properties.ts'
import { readName } from '../properties/property-values.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'

/** No inventory is this deep, unless a broken one has a loop. */
const MAX_DEPTH = 64

export interface AncestorNode {
  readonly reference: ManagedObjectReference
  readonly name: string
  readonly parent: ManagedObjectReference | undefined
  /** False for an object that vCenter did not show when asked, or whose name or parent the account may not read. */
  readonly readable: boolean
  /** Whether vCenter does not answer for it, though it answers otherwise. */
  readonly unanswered?: boolean
}

/** PropertySpecs for every type above a VM, including their subtypes (clusters, vApps). */
export const ANCESTOR_PROPERTIES = ['HostSystem', 'ComputeResource', 'ResourcePool', 'Folder', 'Datacenter']
  .map((type) => propertySpec(type, ['name', 'parent']))
  .join('')

/** From an entity to all above it. The name must be unique within a PropertyFilterSpec. */
const upward = (name: string) => traversal(name, 'ManagedEntity', 'parent', selection(name))

/** Selections that traverse from a VM to everything above it. */
export const ABOVE_MACHINE = [
  upward('up'),
  traversal('host', 'VirtualMachine', 'runtime.host', selection('up')),
  traversal('pool', 'VirtualMachine', 'resourcePool', selection('up')),
  traversal('vApp', 'VirtualMachine', 'parentVApp', selection('up')),
].join('')

/** One PropertyFilterSpec for these objects and all above them: a server compares each object with each spec of a call. */
export function ancestorSpecs(starts: readonly ManagedObjectReference[]): string[] {
  const objects = starts.map((start, i) => objectSpec(start, false, upward(`up${i}`)))
  return [lenientFilterSpec(ANCESTOR_PROPERTIES, objects.join(''))]
}

/** The same for these objects alone. */
function objectSpecs(objects: readonly ManagedObjectReference[]): string[] {
  return [lenientFilterSpec(ANCESTOR_PROPERTIES, objects.map((object) => objectSpec(object)).join(''))]
}

export type AncestorTree = ReturnType<typeof createAncestorTree>

export function createAncestorTree() {
  const nodes = new Map<string, AncestorNode>()
  const has = (reference: ManagedObjectReference) => nodes.has(keyOf(reference))

  /** From `start` to the root, nearest first; ends early at an object that was never read. */
  function chain(start: ManagedObjectReference | undefined): AncestorNode[] {
    const chain: AncestorNode[] = []
    let next = start
    while (next !== undefined && chain.length < MAX_DEPTH) {
      const node = nodes.get(keyOf(next)) ?? unreadable(next)
      chain.push(node)
      next = node.parent
    }
    return chain
  }

  return {
    has,
    put({ reference, properties, missing }: ObjectContent): void {
      const node = compact({
        reference,
        name: readName(properties.get('name')) ?? reference.value,
        parent: toReference(properties.get('parent')),
        // What stands above an object without a known parent would be left out silently.
        readable: missing.size === 0,
      })
      nodes.set(keyOf(node.reference), node)
    },
    /** Records an object that was requested but not shown, because vCenter does not answer where it is `unanswered`. */
    putUnreadable(reference: ManagedObjectReference, unanswered: boolean): void {
      nodes.set(keyOf(reference), unreadable(reference, unanswered))
    },
    chain,
    /** The nearest one, from `start` to the root, that was never put here. */
    firstUnknown: (start: ManagedObjectReference) =>
      chain(start).find(({ reference }) => !has(reference))?.reference,
  }
}

function unreadable(reference: ManagedObjectReference, unanswered = false): AncestorNode {
  return { reference, name: reference.value, parent: undefined, readable: false, unanswered }
}

/** The key in quarantine of reads that go from objects up to the root. */
const ABOVE = 'objects above VMs'

/**
 * Reads the unknown objects above these VMs; usually there are none. Returns whether there were any. Where one of them keeps that
 * from being answered, it may be above all: then those below are read first, so that it is known which one it is.
 */
export async function readAncestors(
  tree: AncestorTree,
  reader: PropertyReader,
  machines: readonly VMProperties[],
  signal: AbortSignal,
): Promise<boolean> {
  const starts = new Map<string, ManagedObjectReference>()
  for (const { host, resourcePool, parent, vApp } of machines) {
    for (const start of [host, resourcePool, parent, vApp]) {
      if (start !== undefined && !tree.has(start)) starts.set(keyOf(start), start)
    }
  }
  if (starts.size === 0) return false
  const { quarantine } = reader
  const put = (object: ObjectContent) => tree.put(object)
  const fillIn = (objects: Iterable<ManagedObjectReference>) => {
    for (const object of objects)
      if (!tree.has(object)) tree.putUnreadable(object, quarantine?.held(keyOf(object))?.alone === true)
  }
  const isHeld = () => quarantine?.held(ABOVE) !== undefined
  const hold: PropertyReader['hold'] = (objects, specs, error) => {
    quarantine?.holdCall(ABOVE, error, (signal) => reader.read(specs(objects), () => undefined, signal))
  }
  if (!isHeld()) {
    const inOne = quarantine === undefined ? reader : { ...reader, hold }
    await readObjects(inOne, [...starts.values()], ancestorSpecs, put, signal)
  }
  const unknown = () => {
    const next = [...starts.values()].flatMap((start) => tree.firstUnknown(start) ?? [])
    return [...new Map(next.map((object) => [keyOf(object), object])).values()]
  }
  for (let level = isHeld() ? unknown() : []; level.length > 0; level = unknown()) {
    await readObjects(reader, level, objectSpecs, put, signal)
    fillIn(level)
  }
  fillIn(starts.values())
  return true
}
