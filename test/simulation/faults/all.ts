import { FAULTS_AT_DECISION } from './at-decision.ts'
import { CERTIFICATE_FAULTS } from './certificates.ts'
import { CLONE_FAULTS } from './clones.ts'
import { CLUSTER_FAULTS } from './cluster.ts'
import type { Fault, Faults } from './fault.ts'
import { MACHINE_FAULTS } from './machines.ts'
import { MOVE_FAULTS } from './moves.ts'
import { NODE_FAULTS } from './nodes.ts'
import { TAG_FAULTS } from './tags.ts'
import { TENANT_FAULTS } from './tenants.ts'
import { VCENTER_FAULTS } from './vcenter.ts'

const ALL: Faults = {
  ...VCENTER_FAULTS,
  ...MACHINE_FAULTS,
  ...CLUSTER_FAULTS,
  ...FAULTS_AT_DECISION,
  ...MOVE_FAULTS,
  ...TENANT_FAULTS,
  ...CLONE_FAULTS,
  ...NODE_FAULTS,
  ...CERTIFICATE_FAULTS,
  ...TAG_FAULTS,
}

export const KINDS: readonly string[] = Object.keys(ALL)

/** Every two kinds, once. */
export const PAIRS: readonly (readonly [string, string])[] = KINDS.flatMap((first, index) =>
  KINDS.slice(index + 1).map((second) => [first, second] as const),
)

export function faultOf(kind: string): Fault {
  const fault = ALL[kind]
  if (fault === undefined) throw new RangeError(`no fault is called ${kind}`)
  return fault
}
