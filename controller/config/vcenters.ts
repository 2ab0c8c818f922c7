import type { VCenterConfig } from './config.ts'
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

/** The same vCenter under two names would show each VM twice, so that every VM would seem to have a copy. */
export function refuseDoubled(
  vCenters: readonly { readonly wanted: WantedVCenter; readonly config: VCenterConfig }[],
  findings: Findings,
): void {
  const first = new Map<string, string>()
  for (const { wanted, config } of vCenters) {
    const where = `${canonical(config.server)} ${config.port}`
    const other = first.get(where)
    if (other === undefined) first.set(where, wanted.path)
    else {
      const at = wanted.given.server?.at ?? wanted.at
      const message = `names the same server as ${other}, which would show each VM twice: keep one of the two`
      findings.refuse(`${wanted.path}.server`, at, message)
    }
  }
}

/** Host names are case-insensitive and may end with a dot. */
function canonical(server: string): string {
  return server.toLowerCase().replace(/\.$/, '')
}
