import type { NodeAddress } from '../../agent/shared/node-report.ts'
import { needsInitialization } from '../node/initialization.ts'
import { LABEL_INSTANCE_TYPE, LABEL_REGION, LABEL_ZONE } from '../node/well-known.ts'
import { chooseAddresses } from './addresses/addresses.ts'
import type { ConditionValue } from './condition-value.ts'
import type { VerifiedIdentity } from './identity/judge-identity.ts'
import { instanceType } from './instance-type.ts'
import { leftToAnother } from './left-to-another.ts'
import type { NodeEvent } from './node-events.ts'
import type { NodeFacts } from './node-facts.ts'
import { judgeChanges, labelChanges } from './topology/change.ts'
import { compareWithCSI, keptForCSI, tellKept } from './topology/csi-topology.ts'
import { type NodeTopology, resolveTopology } from './topology/topology.ts'

/** Zone, region, instance type and addresses of a verified Node. */
export interface InstanceMetadata {
  readonly topology: NodeTopology
  readonly instanceType: string
  /**
   * Labels by their standard names with vCenter's values; undefined where vCenter says nothing. Those that stay for the CSI
   * driver's sake are not among them.
   */
  readonly labels: readonly (readonly [string, string | undefined])[]
  readonly addresses: readonly NodeAddress[] | undefined
  /** Whether a new Node has to wait for more addresses. */
  readonly awaitsAddresses: boolean
  /** Nodes that hold an address which this one wants. */
  readonly waitsFor: readonly string[]
  readonly conditions: {
    readonly TopologyResolved: ConditionValue
    readonly AddressesResolved: ConditionValue
  }
  readonly events: readonly NodeEvent[]
}

export function judgeInstanceMetadata(
  { spec, vm, macs, ancestry }: VerifiedIdentity,
  facts: Pick<
    NodeFacts,
    'node' | 'previous' | 'settings' | 'interlock' | 'addressHolder' | 'csiTopologyKeys'
  >,
): InstanceMetadata {
  const { node, previous, settings, interlock, addressHolder } = facts
  const writes = leftToAnother(facts) === undefined
  const insists = settings.topology.required && needsInitialization(node) && writes
  const topology = resolveTopology(ancestry, settings.labels, insists)
  const type = instanceType(vm)
  const places = [
    ...(settings.labels.zone === undefined ? [] : [[LABEL_ZONE, topology.zone] as const]),
    ...(settings.labels.region === undefined ? [] : [[LABEL_REGION, topology.region] as const]),
  ]
  const follows = needsInitialization(node) || settings.topology.onChange === 'relabel'
  const kept = keptForCSI(facts, writes && !topology.awaitsTags ? places : [], follows)
  const labels = [...places.filter(([label]) => !kept.has(label)), [LABEL_INSTANCE_TYPE, type] as const]
  const changes = needsInitialization(node) ? [] : labelChanges(node, labels)
  const changed = judgeChanges(changes, settings.topology, topology.condition)
  const written = follows ? Object.fromEntries(labels) : {}
  const { identityLevel, addresses: before = [] } = previous
  const { addresses, awaitsAddresses, holders, condition } = chooseAddresses(spec, vm, {
    node,
    macs,
    settings,
    // A CPI that keeps them current may have moved the Node since.
    before: identityLevel === undefined || interlock.state === 'held' ? [] : before,
    holder: addressHolder,
  })
  return {
    topology,
    instanceType: type,
    labels,
    addresses,
    awaitsAddresses,
    waitsFor: holders,
    conditions: {
      TopologyResolved: tellKept(kept, compareWithCSI(node, written, settings.labels, changed.condition)),
      AddressesResolved: condition,
    },
    events: changed.events,
  }
}
