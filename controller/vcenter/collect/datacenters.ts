import type { DatacenterPath } from '../../config/datacenter-pattern.ts'
import { readName } from '../properties/property-values.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import {
  filterSpec,
  objectSpec,
  type PropertyReader,
  propertySpec,
  selection,
  traversal,
} from './retrieve-properties.ts'

/** A folder tree deeper than this is not followed; vCenter's interface stops long before. */
const MAX_DEPTH = 64

interface Entry {
  readonly type: string
  readonly name: string
  readonly parent: string | undefined
}

const SPEC = propertySpec('Datacenter', ['name', 'parent']) + propertySpec('Folder', ['name', 'parent'])

/** All datacenters that the account sees, by their inventory paths. Throws a VCenterError. */
export async function readDatacenters(
  reader: PropertyReader,
  rootFolder: ManagedObjectReference,
  signal: AbortSignal,
): Promise<readonly DatacenterPath[]> {
  const folders = traversal('folders', 'Folder', 'childEntity', selection('folders'))
  const entries = new Map<string, Entry>()
  await reader.read(
    [filterSpec(SPEC, objectSpec(rootFolder, true, folders))],
    ({ reference: { type, value }, properties }) => {
      const name = readName(properties.get('name'))
      const parent = toReference(properties.get('parent'))
      if (name !== undefined) entries.set(value, { type, name, parent: parent?.value })
    },
    signal,
  )
  return [...entries]
    .filter(([, { type }]) => type === 'Datacenter')
    .map(([moref]) => ({ moref, path: pathOf(moref, entries) }))
}

/** The root folder is not among the entries, and no path names it. */
function pathOf(moref: string, entries: ReadonlyMap<string, Entry>): readonly string[] {
  const path: string[] = []
  let entry = entries.get(moref)
  while (entry !== undefined && path.length < MAX_DEPTH) {
    path.unshift(entry.name)
    entry = entry.parent === undefined ? undefined : entries.get(entry.parent)
  }
  return path
}
