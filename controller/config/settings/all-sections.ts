/** Every key of `vsphere.conf` that Rollcall knows, by section. Which of them the CPI has too, `docs/configuration.md` says. */
import { GLOBAL } from './global.ts'
import { IDENTITY } from './identity.ts'
import { LABELS } from './labels.ts'
import { LIFECYCLE } from './lifecycle.ts'
import { NODES } from './nodes.ts'
import { namesOf } from './row.ts'
import { TOPOLOGY } from './topology.ts'
import { VCENTER } from './vcenter.ts'

export const SECTIONS = {
  global: GLOBAL,
  vcenter: VCENTER,
  labels: LABELS,
  identity: IDENTITY,
  lifecycle: LIFECYCLE,
  topology: TOPOLOGY,
  nodes: NODES,
} as const

export type SectionName = keyof typeof SECTIONS

/** The names of sections, in the order in which messages name them. */
export const SECTION_NAMES: readonly SectionName[] = namesOf(SECTIONS)

/** Other names of sections: the INI form's `[VirtualCenter "name"]`. */
export const SECTION_ALIASES: ReadonlyMap<string, SectionName> = new Map([['virtualCenter', 'vcenter']])

export { OTHER_SECTIONS } from './ignored-keys.ts'
