import { isDeepStrictEqual } from 'node:util'
import type { Config, VCenterConfig } from './config.ts'
import { namesOf } from './settings/row.ts'

/**
 * What differs between two configurations, as named in the file: `labels`, `vcenter.NAME`, `vcenter.NAME.password`. Empty
 * where they are the same. Never contains a setting's value.
 */
export function changesOf(before: Config, after: Config): readonly string[] {
  const names = new Set([...before.vCenters, ...after.vCenters].map(({ name }) => name))
  const vCenters = [...names].flatMap((name) => vCenterChanges(name, before, after))
  // Answers come in this order.
  const order = (config: Config) => config.vCenters.map(({ name }) => name)
  const moved = vCenters.length === 0 && !isDeepStrictEqual(order(before), order(after))
  return [
    ...vCenters,
    ...(moved ? ['vcenter'] : []),
    ...SECTIONS.filter((section) => !isDeepStrictEqual(before[section], after[section])),
  ]
}

const SECTIONS = [
  'labels',
  'labelRules',
  'identity',
  'lifecycle',
  'topology',
  'initialization',
  'nodes',
  'certificates',
] as const satisfies (keyof Config)[]

/** What the configuration holds by vCenter name, and the setting that it is named after. */
const BY_VCENTER = { ipFamilies: 'ipFamily', credentials: 'secretName' } as const

/** What happens to a vCenter when one of its settings changes; a setting that is missing here does not compile. */
const EFFECTS = {
  name: 'another vCenter',
  server: 'new inventory',
  port: 'new inventory',
  user: 'new inventory',
  trust: 'new inventory',
  datacenters: 'decided again',
  // Only a Secret itself can compare its text.
  password: 'compared apart',
  // Not a setting, and used only in messages.
  userSource: 'nothing',
  oddity: 'nothing',
  // Not a setting: it is in a Secret or a folder.
  sessionManager: 'new inventory, unnamed',
  // Not a setting. What cannot log in yet has nothing to lose.
  noCredential: 'new inventory, unnamed',
} as const satisfies Record<keyof VCenterConfig, string>

const SETTINGS = settingsWith('new inventory', 'new inventory, unnamed')

function settingsWith(...effects: readonly (typeof EFFECTS)[keyof VCenterConfig][]) {
  return namesOf(EFFECTS).filter((setting) => effects.includes(EFFECTS[setting]))
}

/** Whether both can use the same session, judged by address, user and trust. */
export function sameConnection(before: VCenterConfig, after: VCenterConfig): boolean {
  return SETTINGS.every((setting) => isDeepStrictEqual(before[setting], after[setting]))
}

function vCenterChanges(name: string, earlier: Config, later: Config): readonly string[] {
  const path = `vcenter.${name}`
  const [before, after] = [named(earlier, name), named(later, name)]
  if (before === undefined || after === undefined) return [path]
  const settings = settingsWith('new inventory', 'decided again')
  const changed: string[] = settings.filter((setting) => !isDeepStrictEqual(before[setting], after[setting]))
  if (!before.password.equals(after.password)) changed.push('password')
  for (const part of ['ipFamilies', 'credentials'] as const)
    if (!isDeepStrictEqual(earlier[part][name], later[part][name])) changed.push(BY_VCENTER[part])
  return changed.map((setting) => `${path}.${setting}`)
}

function named({ vCenters }: Config, name: string): VCenterConfig | undefined {
  return vCenters.find((vCenter) => vCenter.name === name)
}
