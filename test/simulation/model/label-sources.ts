/** What labels may be made of: where a VM truly stands, and what people have written on it. */
import type { LabelRule, LabelSource } from '../../../controller/config/config.ts'
import type { VM } from './machine.ts'
import { RACK, rackOf } from './tagging.ts'

/** Resource pools, by reference. */
export const POOLS = { 'resgroup-8': 'Resources', 'resgroup-9': 'reserved' } as const
export type PoolReference = keyof typeof POOLS
export const DEFAULT_POOL: PoolReference = 'resgroup-8'

/** The custom attributes that there are, by key. */
export const ATTRIBUTES = { 101: 'Owner', 102: 'Backup' } as const
export const OWNER = ATTRIBUTES[101]
/** The last is no label value. */
export const OWNERS = ['team-a', 'team-b', 'Team C!'] as const

/** Stands alone; all others of its datacenter are one cluster. */
const ALONE = 'host-3'

/** The name of the cluster in which a host is; undefined for one that is in none. */
export function clusterOf(host: string, datacenter: string): string | undefined {
  return host === ALONE ? undefined : `cluster-of-${datacenter}`
}

/** What a source truly says of a VM. */
export function sourceValue(from: LabelSource, vm: VM): string | undefined {
  const { host, folder, pool, attributes, vCenter } = vm
  switch (from.kind) {
    case 'tagCategory':
      return from.name === RACK && !vCenter.untagged.has(`${host}.${folder.datacenter} ${rackOf(host)}`)
        ? rackOf(host)
        : undefined
    case 'attribute':
      return attributes[from.name]
    case 'host':
      return host
    case 'cluster':
      return clusterOf(host, folder.datacenter)
    case 'resourcePool':
      return POOLS[pool]
    case 'folder':
      return folder.name
    case 'datacenter':
      return folder.datacenter
  }
}

/** What label a rule makes of that; repeated here, so that a change of the code cannot change it. Undefined where it must make none. */
export function labelOf({ map }: Pick<LabelRule, 'map'>, value: string): string | undefined {
  const mapped = map.get(value)
  if (mapped !== undefined) return mapped
  if ([...map.values()].includes(value)) return undefined
  return /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(value) ? value : undefined
}

/** One value of one source, for a set of them. */
export function sourceKey(from: LabelSource, value: string): string {
  return `${from.kind} ${'name' in from ? from.name : ''} ${value}`
}

const SOURCES: readonly LabelSource[] = [
  { kind: 'tagCategory', name: RACK },
  ...Object.values(ATTRIBUTES).map((name) => ({ kind: 'attribute', name }) as const),
  { kind: 'host' },
  { kind: 'cluster' },
  { kind: 'resourcePool' },
  { kind: 'folder' },
  { kind: 'datacenter' },
]

/** All that the sources say of a VM at this moment. */
export function sourceKeys(vm: VM): readonly string[] {
  return SOURCES.flatMap((from) => {
    const value = sourceValue(from, vm)
    return value === undefined ? [] : [sourceKey(from, value)]
  })
}
