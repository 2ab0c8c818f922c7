import type { NodeAddress } from '../../agent/contract.ts'
import { isUninitialized } from '../node/uninitialized.ts'
import { chooseAddresses } from './addresses/addresses.ts'
import type { ConditionValue } from './condition.ts'
import type { VerifiedIdentity } from './identity/judge-identity.ts'
import type { NodeEvent } from './node-events.ts'
import type { NodeFacts } from './node-facts.ts'
import { wantedLabels } from './node-patch.ts'
import { judgeChanges, labelChanges } from './topology/change.ts'
import { compareWithCSI } from './topology/csi-topology.ts'
import { type NodeTopology, resolveTopology } from './topology/topology.ts'

/** Zone, region and addresses of a verified Node. */
export interface InstanceMetadata {
  readonly topology: NodeTopology
  readonly addresses: readonly NodeAddress[] | undefined
  /** Whether a new Node has to wait for more addresses. */
  readonly incomplete: boolean
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
  {
    node,
    previous,
    settings,
    interlock,
    addressHolder,
  }: Pick<NodeFacts, 'node' | 'previous' | 'settings' | 'interlock' | 'addressHolder'>,
): InstanceMetadata {
  const topology = resolveTopology(ancestry, settings.labels)
  const changes = isUninitialized(node) ? [] : labelChanges(node, wantedLabels({ vm, topology }))
  const changed = judgeChanges(changes, settings.topology, topology.condition)
  const follows = isUninitialized(node) || settings.topology.onChange === 'relabel'
  const written = follows ? Object.fromEntries(wantedLabels({ vm, topology })) : {}
  const { identityLevel, addresses: before = [] } = previous
  const { addresses, incomplete, holders, condition } = chooseAddresses(spec, vm, {
    node,
    macs,
    settings,
    // A CPI that keeps them current may have moved the Node since.
    before: identityLevel === undefined || interlock.state === 'held' ? [] : before,
    holder: addressHolder,
  })
  return {
    topology,
    addresses,
    incomplete,
    waitsFor: holders,
    conditions: {
      TopologyResolved: compareWithCSI(node, written, settings.labels, changed.condition),
      AddressesResolved: condition,
    },
    events: changed.events,
  }
}
