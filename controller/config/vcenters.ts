import type { VCenterConfig } from './config.ts'
import type { Findings, SourcePosition } from './findings.ts'
import type { Section, Sections } from './sections.ts'

/** A vCenter as the file names it, its settings unread. */
export interface WantedVCenter {
  readonly name: string
  /** The path of its settings. */
  readonly path: string
  readonly at: SourcePosition | undefined
  readonly section: Section
}

/**
 * `global.server` is a vCenter of its own, named after its server, unless `vcenter` has an entry of that name (the CPI's
 * rule) or an entry with that server.
 */
export function vCentersOf({ global, vCenters }: Sections): readonly WantedVCenter[] {
  const listed = vCenters.map((one) => ({ ...one, path: `vcenter.${one.name}` }))
  const server = global.get('server')
  if (server === undefined) return listed
  const same = (text: string | undefined): boolean =>
    text !== undefined && canonical(text) === canonical(server.text)
  const known = listed.some(({ name, section }) => same(name) || same(section.get('server')?.text))
  return known ? listed : [...listed, { name: server.text, path: 'global', at: server.at, section: global }]
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
      const at = wanted.section.get('server')?.at ?? wanted.at
      const message = `names the same server as ${other}, which would show each VM twice: keep one of the two`
      findings.refuse(`${wanted.path}.server`, at, message)
    }
  }
}

/** Host names are case-insensitive and may end with a dot. */
function canonical(server: string): string {
  return server.toLowerCase().replace(/\.$/, '')
}
