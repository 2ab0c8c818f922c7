import type { NodeAddress } from '../../../../agent/shared/node-report.ts'
import { LABEL_REGION, LABEL_ZONE } from '../../../types/well-known.ts'
import { needsInitialization } from '../facts/needs-initialization.ts'
import { witnessOf } from './addresses/address-witness.ts'
import { chooseAddresses } from './addresses/choose-addresses.ts'
import type { ConditionValue } from './condition-value.ts'
import type { VerifiedIdentity } from './identity/judge-identity.ts'
import { instanceType } from './instance-type.ts'
import { judgeRules, type RuledLabels } from './labels/judge-rules.ts'
import type { NodeEvent } from './node-events.ts'
import type { NodeFacts } from './node-facts.ts'
import { judgeLabels, type Labels } from './topology/label-changes.ts'
import { type NodeTopology, resolveTopology } from './topology/zone-from-tags.ts'

/** Zone, region, instance type and addresses of a verified Node. */
export interface InstanceMetadata {
  readonly topology: NodeTopology
  readonly instanceType: string
  readonly labels: Labels['labels']
  /** Undefined where another provider writes labels. */
  readonly ruled: RuledLabels | undefined
  readonly addresses: readonly NodeAddress[] | undefined
  /** What the status is to say of them; undefined where it says nothing. */
  readonly recorded: readonly NodeAddress[] | undefined
  /** Whether a new Node has to wait for more addresses. */
  readonly awaitsAddresses: boolean
  /** Nodes that hold an address which this one wants. */
  readonly waitsFor: readonly string[]
  readonly conditions: {
    readonly TopologyResolved: ConditionValue
    readonly LabelsResolved?: ConditionValue
    readonly AddressesResolved: ConditionValue
  }
  readonly events: readonly NodeEvent[]
}

/** @param writes whether this controller writes them, and not another provider */
export function judgeInstanceMetadata(
  { spec, vm, macs, ancestry }: VerifiedIdentity,
  facts: Pick<
    NodeFacts,
    | 'node'
    | 'previous'
    | 'settings'
    | 'interlock'
    | 'addressHolder'
    | 'csiTopologyKeys'
    | 'fullReads'
    | 'absentLabels'
  >,
  { writes }: { readonly writes: boolean },
): InstanceMetadata {
  const { node, previous, settings, interlock, addressHolder } = facts
  const isNew = needsInitialization(node)
  const insists = settings.topology.required && isNew && writes
  const { [LABEL_ZONE]: zone, [LABEL_REGION]: region } = node.labels
  // The labels of a new Node come from its kubelet alone.
  const present = isNew ? undefined : { zone, region }
  const topology = resolveTopology(ancestry, settings.labels, insists, present)
  const type = instanceType(vm)
  const { labels, condition: placed, events } = judgeLabels({ topology, instanceType: type, writes }, facts)
  const ruled = writes ? judgeRules(vm, ancestry, facts) : undefined
  const { identityLevel, addresses: before = [] } = previous
  // A CPI that runs keeps the addresses current, and may have changed them since.
  const had = identityLevel === undefined || interlock.state === 'held' ? [] : before
  const { addresses, lost, awaitsAddresses, holders, condition } = chooseAddresses(spec, vm, {
    node,
    macs,
    settings,
    before: had,
    holder: addressHolder,
    witness: (address) => witnessOf(address, spec, vm, settings.nodes),
  })
  return {
    topology,
    instanceType: type,
    labels,
    ruled,
    addresses,
    // A Node with no other address keeps showing one that it has lost, but no longer holds it.
    recorded: addresses ?? previous.addresses?.filter(({ address }) => !lost.includes(address)),
    awaitsAddresses,
    waitsFor: holders,
    conditions: {
      TopologyResolved: placed,
      ...(ruled?.condition === undefined ? {} : { LabelsResolved: ruled.condition }),
      AddressesResolved: condition,
    },
    events: [...events, ...(ruled?.events ?? [])],
  }
}
