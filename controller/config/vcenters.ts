import { isDeepStrictEqual } from 'node:util'
import {
  canonicalServer,
  type IPFamily,
  serverKey,
  type VCenterConfig,
  type VCenterCredentials,
} from './config.ts'
import type { Findings } from './findings.ts'
import type { GivenVCenter, Sections } from './sections.ts'

export interface WantedVCenter extends GivenVCenter {
  /** The path of its settings. */
  readonly path: string
}

/**
 * `global.server` is a vCenter of its own, named after its server, unless `vcenter` has an entry of that name (the CPI's
 * rule) or an entry with that server.
 */
export function vCentersOf({ global, vCenters }: Sections): readonly WantedVCenter[] {
  const listed = vCenters.map((one) => ({ ...one, path: `vcenter.${one.name}` }))
  const { server } = global
  if (server === undefined) return listed
  const same = (text: string | undefined): boolean =>
    text !== undefined && canonicalServer(text) === canonicalServer(server.value)
  const known = listed.some(({ name, given }) => same(name) || same(given.server?.value))
  return known ? listed : [...listed, { name: server.value, path: 'global', at: server.at, given: global }]
}

/** A vCenter as it is checked, and as it was given. */
export interface CheckedVCenter {
  readonly wanted: WantedVCenter
  readonly config: VCenterConfig
  readonly ipFamilies: readonly IPFamily[]
  readonly credentials: VCenterCredentials | undefined
}

/**
 * Warns of one server under two names where that is useless. With different accounts or datacenters it means two tenants, as
 * in the CPI.
 */
export function warnDoubled(vCenters: readonly CheckedVCenter[], findings: Findings): void {
  for (const [index, vCenter] of vCenters.entries()) {
    const { wanted, config } = vCenter
    const other = vCenters
      .slice(0, index)
      .find(
        (each) =>
          serverKey(each.config) === serverKey(config) &&
          sameAccount(each, vCenter) &&
          sameDatacenters(each.config, config),
      )
    if (other === undefined) continue
    findings.warn(
      `${wanted.path}.server`,
      wanted.given.server?.at ?? wanted.at,
      `names the same server as ${other.wanted.path}, with the same user and datacenters, so everything is asked twice: keep one of the two`,
    )
  }
}

function sameAccount(a: CheckedVCenter, b: CheckedVCenter): boolean {
  return a.config.user === b.config.user && isDeepStrictEqual(a.credentials, b.credentials)
}

function sameDatacenters(a: VCenterConfig, b: VCenterConfig): boolean {
  return isDeepStrictEqual(new Set(a.datacenters), new Set(b.datacenters))
}
