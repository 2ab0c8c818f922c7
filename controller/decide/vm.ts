import { FACT_SERIAL_UUID, type NodeReportSpec } from '../../agent/contract.ts'
import type { VirtualMachine } from '../facts/virtual-machine.ts'
import { judgeClaim, proves } from './claim.ts'
import type { NodeFacts } from './facts.ts'
import { commonMACs } from './mac.ts'
import { no, unknown, type Verdict, yes } from './verdict.ts'

export type VMSearch =
  | { readonly outcome: 'found'; readonly vm: VirtualMachine; readonly verdict: Verdict }
  /** No vCenter has answered yet; it will call back. */
  | { readonly outcome: 'pending' }
  /** A vCenter could not be asked: nothing is concluded. */
  | { readonly outcome: 'unknown'; readonly verdict: Verdict }
  | { readonly outcome: 'refused'; readonly verdict: Verdict }

/**
 * The one VM that the report names. A UUID counts over all vCenters, templates and foreign datacenters included: a copy
 * (a copied VMX file, a restore, an array clone) makes it two, and then the claim, or else the vNICs, must tell which.
 */
export function findVM(spec: NodeReportSpec, facts: NodeFacts): VMSearch {
  const uuid = spec.machine.serialUUID
  if (uuid === undefined) return { outcome: 'refused', verdict: noSerial(spec) }

  const vms: VirtualMachine[] = []
  for (const { lookup } of facts.lookups) {
    if (lookup.state === 'pending') return { outcome: 'pending' }
    if (lookup.state === 'unknown') {
      return { outcome: 'unknown', verdict: unknown(lookup.failure.reason, lookup.failure.message) }
    }
    vms.push(...lookup.vms)
  }
  if (vms.length === 0) return { outcome: 'refused', verdict: noVM(uuid, facts) }

  const vm = vms.length === 1 ? vms[0] : tellApart(vms, spec, facts)
  if (vm === undefined) return { outcome: 'refused', verdict: ambiguous(uuid, vms) }
  if (vm.template) {
    return {
      outcome: 'refused',
      verdict: no(
        'VMIsTemplate',
        `BIOS UUID ${uuid} belongs to the template ${describeVM(vm)}, which cannot run a node; find the running VM that shares its UUID and give it one of its own`,
      ),
    }
  }
  if (vm.biosUUID === undefined) return { outcome: 'unknown', verdict: unreadable(vm) }
  return { outcome: 'found', vm, verdict: yes('VMFound', `BIOS UUID ${uuid} is that of ${describeVM(vm)}`) }
}

/** A VM in words: name, reference and vCenter. */
export function describeVM(vm: VirtualMachine): string {
  return `VM "${vm.name}" (${vm.reference}) in vCenter ${vm.vCenter.name}`
}

/** The claim is the stronger witness; the vNICs decide only where no claim does. */
function tellApart(
  vms: readonly VirtualMachine[],
  spec: NodeReportSpec,
  facts: NodeFacts,
): VirtualMachine | undefined {
  const running = vms.filter((vm) => !vm.template)
  const proven = running.filter((vm) => proves(judgeClaim(vm.claim, spec, facts)))
  if (proven.length > 0) return proven.length === 1 ? proven[0] : undefined
  const byMAC = running.filter((vm) => commonMACs(spec, vm).length > 0)
  return byMAC.length === 1 ? byMAC[0] : undefined
}

/** The agent's own reason stays in the message: a stranger's word must not become a metric's label. */
function noSerial(spec: NodeReportSpec): Verdict {
  const cause = spec.unreadable?.find(({ fact }) => fact === FACT_SERIAL_UUID)
  return no(
    'NoSerial',
    cause === undefined
      ? 'the report has no BIOS UUID from product_serial; the agent must run as root on a VMware VM to read it'
      : `the agent could not read the BIOS UUID: ${cause.message} (${cause.reason})`,
  )
}

function noVM(uuid: string, facts: NodeFacts): Verdict {
  const names = facts.lookups.map(({ vCenter }) => vCenter).join(', ')
  return no(
    'NoVMWithUUID',
    `no VM with BIOS UUID ${uuid} is visible in vCenter ${names}; check that the VM is there and that the vCenter account has System.Read on it`,
  )
}

/** vCenter keeps a VM whose datastore is away as a mere name: what it is cannot be checked, nor that it is another. */
function unreadable(vm: VirtualMachine): Verdict {
  return unknown(
    'VMUnreadable',
    `vCenter cannot read the configuration of ${describeVM(vm)}, which is ${vm.connectionState}; bring its host and datastore back`,
  )
}

function ambiguous(uuid: string, vms: readonly VirtualMachine[]): Verdict {
  return no(
    'AmbiguousUUID',
    `BIOS UUID ${uuid} belongs to ${vms.length} VMs: ${vms.slice(0, 4).map(describeVM).join(', ')}; give the copies a UUID of their own (power off, then set uuid.bios)`,
  )
}
