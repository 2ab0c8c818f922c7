import { isDeepStrictEqual } from 'node:util'
import type { IPFamily, VCenterConfig, VCenterCredentials } from './config.ts'
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
    text !== undefined && canonical(text) === canonical(server.value)
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
 * One server under two names. With one account and the same datacenters that is a mistake. With others it means two tenants,
 * as the CPI has them; that is refused only until a VM that both accounts may read no longer counts as two.
 */
export function refuseDoubled(vCenters: readonly CheckedVCenter[], findings: Findings): void {
  const first = new Map<string, CheckedVCenter>()
  for (const vCenter of vCenters) {
    const { wanted, config } = vCenter
    const where = `${canonical(config.server)} ${config.port}`
    const other = first.get(where)
    if (other === undefined) {
      first.set(where, vCenter)
      continue
    }
    const path = `${wanted.path}.server`
    const at = wanted.given.server?.at ?? wanted.at
    const message = `names the same server as ${other.wanted.path}, which would show each VM twice: keep one of the two`
    if (!sameAccount(vCenter, other)) {
      findings.unserved(
        path,
        at,
        `${message}, for an account that may read all; one for each tenant is not supported yet`,
      )
    } else if (!sameDatacenters(config, other.config)) {
      findings.unserved(path, at, `${message}, and list the datacenters of both there`)
    } else findings.refuse(path, at, message)
  }
}

function sameAccount(a: CheckedVCenter, b: CheckedVCenter): boolean {
  return a.config.user === b.config.user && isDeepStrictEqual(a.credentials, b.credentials)
}

function sameDatacenters(a: VCenterConfig, b: VCenterConfig): boolean {
  return isDeepStrictEqual(new Set(a.datacenters), new Set(b.datacenters))
}

/** Host names are case-insensitive and may end with a dot. */
function canonical(server: string): string {
  return server.toLowerCase().replace(/\.$/, '')
}
