import type { IdentityLevel, NodeReportSpec } from '../../agent/contract.ts'
import type { VirtualMachine } from '../facts/virtual-machine.ts'
import { judgeClaim } from './claim.ts'
import type { NodeFacts } from './facts.ts'
import { commonMACs } from './mac.ts'
import { printable } from './printable.ts'
import { judgeProviderID } from './provider-id.ts'
import { sameMachineUUID } from './uuid.ts'
import { no, type Verdict, yes } from './verdict.ts'
import { describeVM } from './vm.ts'

export interface Identity {
  /** Undefined where the identity is refused. */
  readonly level: Exclude<IdentityLevel, 'asserted'> | undefined
  readonly verdict: Verdict
}

/**
 * Whether this Node is this VM, and how strongly that is known.
 *
 * `reported`: the node's own credential named the UUID, one VM fits it, and a MAC seen in the guest is one of its vNICs. `proven`: the VM itself names this Node. Names and IP addresses never identify.
 */
export function verifyIdentity(spec: NodeReportSpec, vm: VirtualMachine, facts: NodeFacts): Identity {
  const contradiction =
    productUUIDContradicts(spec) ?? providerIDContradicts(vm, facts) ?? macsContradict(spec, vm)
  if (contradiction !== undefined) return { level: undefined, verdict: contradiction }

  const claim = judgeClaim(vm.claim, spec, facts)
  if (claim.kind === 'contradicts') {
    return {
      level: undefined,
      verdict: no(
        'ClaimedByAnotherNode',
        `${describeVM(vm)} says that it is Node ${claim.nodeName}, while Node ${facts.node.name} reports its UUID; if the VM was re-registered under a new name delete the old Node, else look for a forged report`,
      ),
    }
  }
  if (claim.kind === 'proves') {
    return {
      level: 'proven',
      verdict: yes('Proven', `${describeVM(vm)} itself names this Node and its present boot`),
    }
  }
  const rival = strongerRival(vm, facts)
  if (rival !== undefined) return { level: undefined, verdict: rival }
  return {
    level: 'reported',
    verdict: yes(
      'Reported',
      `UUID and MAC addresses are those of ${describeVM(vm)}; not proven: ${claim.message} (${claim.reason})`,
    ),
  }
}

function productUUIDContradicts(spec: NodeReportSpec): Verdict | undefined {
  const { serialUUID, productUUID } = spec.machine
  if (serialUUID === undefined || productUUID === undefined) return undefined
  if (sameMachineUUID(serialUUID, productUUID)) return undefined
  return no(
    'UUIDsContradict',
    `product_serial says ${serialUUID}, product_uuid says ${productUUID}, which is not the same UUID in either byte order; check the VM's uuid.bios and SMBIOS settings`,
  )
}

function providerIDContradicts(vm: VirtualMachine, { node }: NodeFacts): Verdict | undefined {
  if (judgeProviderID(node.providerID, vm.biosUUID) !== 'other-vm') return undefined
  return no(
    'ProviderIDOfAnotherVM',
    `the Node's provider ID ${printable(node.providerID ?? '', 80)} is not that of ${describeVM(vm)} (${vm.biosUUID ?? 'no BIOS UUID'}); a provider ID cannot change: delete the Node and let the kubelet register it anew`,
  )
}

function macsContradict(spec: NodeReportSpec, vm: VirtualMachine): Verdict | undefined {
  if (commonMACs(spec, vm).length > 0) return undefined
  const seen = spec.interfaces.map(({ mac }) => mac).join(', ') || 'none'
  const known = vm.nics.map(({ mac }) => mac).join(', ') || 'none'
  return no(
    'MACsContradict',
    `the guest has the MAC addresses ${seen}, ${describeVM(vm)} has ${known}; a report must come from the VM that it names`,
  )
}

/** Without a claim, a second Node on the same VM makes both doubtful; only the one that already runs is left alone. */
function strongerRival(vm: VirtualMachine, { report, rivals }: NodeFacts): Verdict | undefined {
  const holdsVM = report?.status.vm?.biosUUID === vm.biosUUID
  const rival = rivals.find((other) => !holdsVM || other.holdsVM)
  if (rival === undefined) return undefined
  return no(
    'VMHasAnotherNode',
    `Node ${rival.name} also points to ${describeVM(vm)}, and no claim in guestinfo tells which is right; delete the Node that is wrong`,
  )
}
