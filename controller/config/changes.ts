import { isDeepStrictEqual } from 'node:util'
import type { Config, VCenterConfig } from './config.ts'

/**
 * What differs between two configurations, as named in the file: `labels`, `vcenter.NAME`, `vcenter.NAME.password`. Empty
 * where they are the same. Never contains a setting's value.
 */
export function changesOf(before: Config, after: Config): readonly string[] {
  const names = new Set([...before.vCenters, ...after.vCenters].map(({ name }) => name))
  const vCenters = [...names].flatMap((name) => vCenterChanges(name, named(before, name), named(after, name)))
  // Answers come in this order.
  const order = (config: Config) => config.vCenters.map(({ name }) => name)
  const moved = vCenters.length === 0 && !isDeepStrictEqual(order(before), order(after))
  return [
    ...vCenters,
    ...(moved ? ['vcenter'] : []),
    ...SECTIONS.filter((section) => !isDeepStrictEqual(before[section], after[section])),
  ]
}

const SECTIONS = ['labels', 'identity', 'lifecycle', 'topology'] as const satisfies (keyof Config)[]

/** Settings that need a new inventory when they change. */
const SETTINGS = ['server', 'port', 'user', 'trust'] as const satisfies (keyof VCenterConfig)[]

/** Whether both can use the same session, judged by address, user and trust. */
export function sameConnection(before: VCenterConfig, after: VCenterConfig): boolean {
  return SETTINGS.every((setting) => isDeepStrictEqual(before[setting], after[setting]))
}

function vCenterChanges(
  name: string,
  before: VCenterConfig | undefined,
  after: VCenterConfig | undefined,
): readonly string[] {
  const path = `vcenter.${name}`
  if (before === undefined || after === undefined) return [path]
  const settings = [...SETTINGS, 'datacenters'] as const
  const changed: string[] = settings.filter((setting) => !isDeepStrictEqual(before[setting], after[setting]))
  // Only a Secret itself can compare its text.
  if (!before.password.equals(after.password)) changed.push('password')
  return changed.map((setting) => `${path}.${setting}`)
}

function named({ vCenters }: Config, name: string): VCenterConfig | undefined {
  return vCenters.find((vCenter) => vCenter.name === name)
}
