import type { NodeAddress } from '../../../../agent/shared/node-report.ts'
import type { ConditionValue } from '../../../types/condition-value.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { BETA_LABELS, LABEL_REGION, LABEL_ZONE } from '../../../types/well-known.ts'
import { needsInitialization } from '../facts/needs-initialization.ts'
import { chooseAddresses } from './addresses/choose-addresses.ts'
import { witnessOf } from './addresses/usable-addresses.ts'
import type { VerifiedIdentity } from './identity/judge-identity.ts'
import { judgeRules, type RuledLabels } from './labels/judge-rules.ts'
import type { NodeEvent } from './node-events.ts'
import type { NodeFacts } from './node-facts.ts'
import { judgeLabels, type Labels } from './topology/moved-labels.ts'
import { type NodeTopology, resolveTopology } from './topology/zone-from-tags.ts'

/** What a verified Node gets, and what is said of it. */
interface InstanceMetadata {
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

/**
 * Zone, region, instance type and addresses of a verified Node.
 *
 * @param writes whether this controller writes them, and not another provider
 */
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
  // A label that is lacking is not given another value than its beta name has.
  const labelOf = (label: string) => node.labels[label] ?? node.labels[BETA_LABELS[label] ?? label]
  // The labels of a new Node come from its kubelet alone.
  const present = isNew ? undefined : { zone: labelOf(LABEL_ZONE), region: labelOf(LABEL_REGION) }
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
    wasBound: previous.vm !== undefined && interlock.state !== 'held',
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

/**
 * The instance type as the CPI writes it: `vsphere-vm.cpu-4.mem-16gb.os-ubuntu`. Memory is rounded down to whole
 * gibibytes, as there (`DiscoverNode` in its nodemanager.go), so that existing node selectors go on matching.
 */
function instanceType(vm: Pick<VirtualMachine, 'cpus' | 'memoryMB' | 'guestID'>): string {
  return `vsphere-vm.cpu-${vm.cpus}.mem-${Math.floor(vm.memoryMB / 1024)}gb.os-${guestOSName(vm.guestID)}`
}

/**
 * vSphere's guest identifiers and the short names that the CPI made of them (its `GuestOSLookup`). Instance types of
 * existing Nodes hold these names, so the list is as it is, gaps included: newer systems have no name there.
 */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    asianux3_64Guest: 'asianux3',
    asianux3Guest: 'asianux3',
    asianux4_64Guest: 'asianux4',
    asianux4Guest: 'asianux4',
    asianux5_64Guest: 'asianux5',
    asianux7_64Guest: 'asianux7',
    centos6_64Guest: 'centos6',
    centos6Guest: 'centos6',
    centos7_64Guest: 'centos7',
    centos7Guest: 'centos7',
    centos64Guest: 'centos64',
    centosGuest: 'centos',
    coreos64Guest: 'coreos',
    darwin10_64Guest: 'darwin',
    darwin10Guest: 'darwin',
    darwin11_64Guest: 'darwin',
    darwin11Guest: 'darwin',
    darwin12_64Guest: 'darwin',
    darwin13_64Guest: 'darwin',
    darwin14_64Guest: 'darwin',
    darwin15_64Guest: 'darwin',
    darwin16_64Guest: 'darwin',
    darwin64Guest: 'darwin',
    darwinGuest: 'darwin',
    debian4_64Guest: 'debian4',
    debian4Guest: 'debian4',
    debian5_64Guest: 'debian5',
    debian5Guest: 'debian5',
    debian6_64Guest: 'debian6',
    debian6Guest: 'debian6',
    debian7_64Guest: 'debian7',
    debian7Guest: 'debian7',
    debian8_64Guest: 'debian8',
    debian8Guest: 'debian8',
    debian9_64Guest: 'debian9',
    debian9Guest: 'debian9',
    debian10_64Guest: 'debian10',
    debian10Guest: 'debian10',
    dosGuest: 'dos',
    eComStation2Guest: 'eComStation2',
    eComStationGuest: 'eComStation',
    fedora64Guest: 'fedora',
    fedoraGuest: 'fedora',
    freebsd64Guest: 'freebsd',
    freebsdGuest: 'freebsd',
    genericLinuxGuest: 'linux',
    mandrakeGuest: 'mandrake',
    mandriva64Guest: 'mandriva',
    mandrivaGuest: 'mandriva',
    netware4Guest: 'netware4',
    netware5Guest: 'netware5',
    netware6Guest: 'netware6',
    nld9Guest: 'nld9',
    oesGuest: 'oes',
    openServer5Guest: 'openServer5',
    openServer6Guest: 'openServer6',
    opensuse64Guest: 'opensuse',
    opensuseGuest: 'opensuse',
    oracleLinux6_64Guest: 'oracleLinux6',
    oracleLinux6Guest: 'oracleLinux6',
    oracleLinux7_64Guest: 'oracleLinux7',
    oracleLinux7Guest: 'oracleLinux7',
    oracleLinux64Guest: 'oracleLinux',
    oracleLinuxGuest: 'oracleLinux',
    os2Guest: 'os2',
    other3xLinux64Guest: 'linux',
    other3xLinuxGuest: 'linux',
    other24xLinux64Guest: 'linux',
    other24xLinuxGuest: 'linux',
    other26xLinux64Guest: 'linux',
    other26xLinuxGuest: 'linux',
    otherGuest: 'other',
    otherGuest64: 'other',
    otherLinux64Guest: 'linux',
    otherLinuxGuest: 'linux',
    redhatGuest: 'rhel',
    rhel2Guest: 'rhel2',
    rhel3_64Guest: 'rhel3',
    rhel3Guest: 'rhel3',
    rhel4_64Guest: 'rhel4',
    rhel4Guest: 'rhel4',
    rhel5_64Guest: 'rhel5',
    rhel5Guest: 'rhel5',
    rhel6_64Guest: 'rhel6',
    rhel6Guest: 'rhel6',
    rhel7_64Guest: 'rhel7',
    rhel7Guest: 'rhel7',
    rhel8_64Guest: 'rhel8',
    rhel9_64Guest: 'rhel9',
    rhel10_64Guest: 'rhel10',
    sjdsGuest: 'sjds',
    sles10_64Guest: 'sles10',
    sles10Guest: 'sles10',
    sles11_64Guest: 'sles11',
    sles11Guest: 'sles11',
    sles12_64Guest: 'sles12',
    sles12Guest: 'sles12',
    sles64Guest: 'sles64',
    slesGuest: 'sles',
    solaris6Guest: 'solaris6',
    solaris7Guest: 'solaris7',
    solaris8Guest: 'solaris8',
    solaris9Guest: 'solaris9',
    solaris10_64Guest: 'solaris10',
    solaris10Guest: 'solaris10',
    solaris11_64Guest: 'solaris11',
    suse64Guest: 'suse',
    suseGuest: 'suse',
    turboLinux64Guest: 'turbolinux',
    turboLinuxGuest: 'turbolinux',
    ubuntu64Guest: 'ubuntu',
    ubuntuGuest: 'ubuntu',
    unixWare7Guest: 'unixware7',
    vmkernel5Guest: 'vmkernel5',
    vmkernel6Guest: 'vmkernel6',
    vmkernel65Guest: 'vmkernel65',
    vmkernelGuest: 'vmkernel',
    vmwarePhoton64Guest: 'photon',
    win31Guest: 'win31',
    win95Guest: 'win95',
    win98Guest: 'win98',
    win2000AdvServGuest: 'win2000advserv',
    win2000ProGuest: 'win2000pro',
    win2000ServGuest: 'win2000serv',
    windows7_64Guest: 'win7',
    windows7Guest: 'win7',
    windows7Server64Guest: 'win7server',
    windows8_64Guest: 'win8',
    windows8Guest: 'win8',
    windows8Server64Guest: 'win8server',
    windows9_64Guest: 'win10',
    windows9Guest: 'win10',
    windows9Server64Guest: 'win10server',
    windowsHyperVGuest: 'windowshyperv',
    winLonghorn64Guest: 'winlonghorn',
    winLonghornGuest: 'winlonghorn',
    winMeGuest: 'winme',
    winNetBusinessGuest: 'winnetbusiness',
    winNetDatacenter64Guest: 'winnetdatacenter',
    winNetDatacenterGuest: 'winnetdatacenter',
    winNetEnterprise64Guest: 'winnetenterprise',
    winNetEnterpriseGuest: 'winnetenterprise',
    winNetStandard64Guest: 'winnetstandard',
    winNetStandardGuest: 'winnetstandard',
    winNetWebGuest: 'winnetweb',
    winNTGuest: 'winnt',
    winVista64Guest: 'winvista',
    winVistaGuest: 'winvista',
    winXPHomeGuest: 'winxphome',
    winXPPro64Guest: 'winxppro',
    winXPProGuest: 'winxppro',
  }),
)

/** The CPI's short name of a `guestOsIdentifier`, exact in case; `unknown` for one that it has no name for. */
export function guestOSName(guestID: string): string {
  return NAMES.get(guestID) ?? 'unknown'
}
