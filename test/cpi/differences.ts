/** Where Rollcall means to differ from the CPI. docs/differences.md has the same, in this order. */
import { readFile, writeFile } from 'node:fs/promises'
import { isIPv4, isIPv6 } from 'node:net'
import { join } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import type { IPFamily } from '../../controller/config/config.ts'
import { nearestLabelValue } from '../../controller/types/label-value.ts'
import type { Verdict } from './compare.ts'
import type { ComparedNode, NodeDifference } from './compare-nodes.ts'
import { chainOfCPI, chainsOf, valuesIn } from './places.ts'
import type { Label, Scenario, ScenarioCase } from './scenario.ts'

interface Difference {
  readonly what: string
  readonly cpi: string
  readonly rollcall: string
  readonly because: string
}

export interface NodeRow extends Difference {
  /** The CPI differs where it happens to meet the wrong one first, so that no case shows it each time. */
  readonly byChance?: true
  /** Whether this is why they differ there. */
  explains(difference: NodeDifference, compared: ComparedNode): boolean
}

const TAKEN = 'only Rollcall'
const REFUSED = 'only the CPI'

/** The files of the corpus with these names, of which this becomes. */
function verdicts(verdict: Verdict, names: string): Readonly<Record<string, Verdict>> {
  return Object.fromEntries(names.split(' ').map((name) => [`${name}.conf`, verdict]))
}

/** In reading `vsphere.conf`. */
export const IN_FILES: readonly (Difference & {
  /** Of the corpus: what shows it, and what becomes of them. */
  readonly shown: Readonly<Record<string, Verdict>>
})[] = [
  {
    what: 'An unknown key or section',
    cpi: 'ignores it',
    rollcall: 'refuses it, with the line and what was probably meant',
    because:
      'A misspelled `datacenters` widens the scope, a misspelled `insecureFlag` breaks the login, and nothing says so.',
    shown: verdicts(REFUSED, 'yaml-misspelled yaml-misspelled-section ini-misspelled ini-misspelled-section'),
  },
  {
    what: 'A key in another spelling: `ca-file` or `INSECURE_FLAG` in YAML, `insecureFlag` or `insecure_flag` in INI',
    cpi: "ignores it, or refuses the file; its own Helm chart's `ca-file` has no effect",
    rollcall: 'reads it',
    because: 'The meaning is clear.',
    shown: {
      ...verdicts(TAKEN, 'yaml-spellings ini-underscore'),
      ...verdicts('different', 'yaml-helm-chart-ca ini-spellings'),
    },
  },
  {
    what: 'A key twice in YAML or JSON',
    cpi: 'the last counts',
    rollcall: 'refuses it; in INI the last counts, with a warning',
    because: "YAML does not allow it; the CPI's INI dialect does.",
    shown: { 'yaml-key-twice.conf': REFUSED, 'ini-repeated.conf': 'same' },
  },
  {
    what: 'Text for a list, a list for `thumbprint`, a number or flag in quotes',
    cpi: 'refuses the file',
    rollcall: 'reads it',
    because: 'The meaning is clear.',
    shown: verdicts(TAKEN, 'yaml-text-for-list yaml-thumbprints yaml-quoted-number'),
  },
  {
    what: 'An empty number or flag in INI: `soap-roundtrip-count = ""`',
    cpi: 'refuses the file, as it does the example in its own documentation',
    rollcall: 'counts it as not set',
    because: 'Empty text means that everywhere else in the file.',
    shown: { 'ini-empty-number.conf': TAKEN },
  },
  {
    what: '`port = 0` in INI',
    cpi: 'uses port 0, which cannot work',
    rollcall: 'counts as not set',
    because: 'In YAML it means that to both.',
    shown: { 'ini-port-zero.conf': 'different', 'yaml-port-zero.conf': 'same' },
  },
  {
    what: 'A value that cannot work: a port above 65535 or in INI any text, a server with a scheme, an invalid thumbprint, subnet or IP family, a CA file that does not exist, in INI a control character',
    cpi: 'accepts it, and fails later: at the login, or at the first Node',
    rollcall: 'refuses it at the start; a running controller keeps the previous configuration',
    because: 'A mistake is best reported while somebody is looking.',
    shown: verdicts(
      REFUSED,
      'ini-bad-port yaml-port-too-large yaml-server-with-scheme yaml-bad-thumbprint yaml-bad-subnet yaml-bad-family yaml-ca-file-missing ini-control-character',
    ),
  },
  {
    what: '`caFile` and `thumbprint` together',
    cpi: 'accepts a certificate that either allows',
    rollcall: 'uses only `caFile`, with a warning',
    because:
      'Somebody who names a CA expects it to be checked; with a forgotten thumbprint an old certificate would still be accepted.',
    shown: { 'yaml-ca-and-thumbprint.conf': 'different' },
  },
  {
    what: 'A number in another notation: `port: 0x1bb`, `port: 0443`',
    cpi: 'reads it',
    rollcall: 'refuses it',
    because: 'YAML 1.1 and 1.2 disagree about such numbers; plain digits are unambiguous.',
    shown: { 'yaml-hex-port.conf': REFUSED, 'yaml-octal-port.conf': REFUSED },
  },
  {
    what: 'Tags (`!!binary`), `<<`, a second document in YAML',
    cpi: 'reads the first two, ignores the third',
    rollcall: 'refuses them; anchors and aliases are read',
    because: 'A password would differ from what is written, or a part of the file would have no effect.',
    shown: {
      ...verdicts(REFUSED, 'yaml-tag yaml-merge yaml-two-documents'),
      ...verdicts('same', 'yaml-anchors'),
    },
  },
  {
    what: 'Braces, brackets or quotes in YAML that go on in lines which are indented no further than their key',
    cpi: 'reads it',
    rollcall: 'refuses it',
    because: 'YAML asks for the blanks. JSON by itself needs none.',
    shown: { 'yaml-braces-not-indented.conf': REFUSED, 'yaml-quotes-not-indented.conf': REFUSED },
  },
  {
    what: 'A byte order mark before INI',
    cpi: 'refuses the file',
    rollcall: 'ignores it',
    because: 'Windows editors write it.',
    shown: { 'ini-byte-order-mark.conf': TAKEN },
  },
  {
    what: '`[VirtualCenter]` without a name, and nothing below it',
    cpi: 'refuses the file',
    rollcall: 'ignores it, like any empty section',
    because: 'It has no content.',
    shown: { 'ini-empty-no-name.conf': TAKEN, 'ini-no-name.conf': 'neither' },
  },
  {
    what: '`server` under `global` beside a vCenter that names the same server',
    cpi: 'has two vCenters, with two sessions',
    rollcall: 'has the one under `vcenter`',
    because: 'Both show the same VMs.',
    shown: { 'yaml-tenants-of-one-server.conf': 'different' },
  },
  {
    what: 'A certificate as `user`, with its key as `password`',
    cpi: 'logs in by a SAML token',
    rollcall: 'refuses it',
    because: 'Not in this version.',
    shown: { 'yaml-certificate-as-user.conf': REFUSED },
  },
]

const BOTH: readonly Label[] = ['zone', 'region']

/** On a Node. */
export const ON_NODES: readonly NodeRow[] = [
  {
    what: 'Tags for one label at several levels, such as on the host and on its cluster',
    cpi: "walks up until it has both labels, and a farther tag replaces a nearer one: with zone on host and cluster, and region on the datacenter, the zone is the cluster's",
    rollcall: "the nearest counts: the zone is the host's",
    because: 'A tag on a host, a rack or a single machine is meant as an exception from what is above it.',
    explains({ part, cpi, rollcall }, { scenario, case: one }) {
      const label = labelOf(part)
      if (label === undefined) return false
      const values = valuesIn(chainOfCPI(chainsOf(scenario, one)) ?? [], label)
      return nearestLabelValue(values[0] ?? '') === rollcall && values.slice(1).some((value) => value === cpi)
    },
  },
  {
    what: "Zone and region that are tagged on different sides: the host's (host, cluster, datacenter), the resource pool's, the VM's and its folders'",
    cpi: 'takes both from the first side that has both; if none has, the Node stays uninitialized',
    rollcall: 'looks for each label separately, on the sides in the same order',
    because: 'A zone tag on the cluster and a region tag on the folder say all that is needed.',
    explains({ part, cpi, rollcall }, { scenario, case: one }) {
      const chains = chainsOf(scenario, one)
      const used = chainOfCPI(chains)
      const everywhere = (label: Label) => chains.flatMap((chain) => valuesIn(chain, label))
      if (givesUp(part, one))
        return used === undefined && everywhere('zone').length > 0 && everywhere('region').length > 0
      const label = labelOf(part)
      if (label === undefined || used === undefined) return false
      return (
        valuesIn(used, label).some((value) => value === cpi) &&
        nearestLabelValue(everywhere(label)[0] ?? '') === rollcall
      )
    },
  },
  {
    what: 'No zone tag or no region tag on anything above the VM',
    cpi: 'a new Node stays uninitialized, an initialized one no longer gets addresses',
    rollcall:
      'initializes it with the label that exists, and says what is missing; the other follows when the tag is there. With `topology.required: true` a new Node waits for it, and an initialized one is not affected',
    because: 'A missing tag should not keep pods off a node (kubernetes/kubernetes#73002).',
    explains({ part }, { scenario, case: one }) {
      const { labels = BOTH } = scenario
      const chains = chainsOf(scenario, one)
      return (
        givesUp(part, one) &&
        labels.length === 2 &&
        labels.some((label) => chains.every((chain) => valuesIn(chain, label).length === 0))
      )
    },
  },
  {
    what: 'Only `zone` or only `region` under `labels`',
    cpi: 'writes neither',
    rollcall: 'writes that one',
    because: 'It was asked for.',
    explains: ({ part, cpi }, { scenario: { labels = BOTH }, case: { node = {} } }) =>
      labels.length === 1 &&
      labelOf(part) === labels[0] &&
      cpi === node.labels?.[part.slice('label '.length)],
  },
  {
    what: 'A tag whose name is not a valid label value: `zone 1 / left`, `北京-1`, or more than 63 characters',
    cpi: 'the Node stays uninitialized, because the API server refuses the label',
    rollcall:
      'uses the nearest valid value, `zone-1-left`, unless that would lose letters or digits or be the value of another tag of the category; then the Node has no label, and `TopologyResolved` says why',
    because: 'The tag was set on purpose, and two zones must not become one.',
    explains: ({ part, cpi }, { scenario, case: one }) =>
      part === 'initialized' &&
      cpi === false &&
      chainsOf(scenario, one).some((chain) =>
        chain.some((tags) => Object.values(tags).some((tag) => nearestLabelValue(tag) !== tag)),
      ),
  },
  {
    what: 'An initialized Node that lacks labels for zone, region or instance type, because they were configured later',
    cpi: 'leaves it so',
    rollcall:
      'adds the missing ones; existing labels stay as they are unless `topology.onChange` is `relabel`',
    because: 'Otherwise each Node would have to be registered again (kubernetes/cloud-provider-vsphere#435).',
    explains: ({ part, cpi }, { case: one }) =>
      part.startsWith('label ') && cpi === undefined && one.node?.untainted === true,
  },
  {
    what: 'An initialized Node whose beta label (`failure-domain.beta.kubernetes.io/zone`) has another value than the label itself',
    cpi: 'uses the value of the beta label for both',
    rollcall: 'leaves both, and says so: `TopologyChanged`',
    because: 'Changing the zone of a running Node strands its volumes; schedulers use the label itself.',
    explains({ part, cpi, rollcall }, { case: { node = {} } }) {
      const own = node.labels ?? {}
      return (
        part === 'label topology.kubernetes.io/zone' &&
        node.untainted === true &&
        node.providerID !== 'foreign' &&
        rollcall === own['topology.kubernetes.io/zone'] &&
        cpi === own['failure-domain.beta.kubernetes.io/zone']
      )
    },
  },
  {
    what: "A new Node with a zone or region label with which the vSphere CSI driver has registered (`topologyKeys` of its CSINode), and whose value differs from vCenter's tags",
    cpi: "writes the tags' value into the label and its beta name; the kubelet refuses the driver's next registration",
    rollcall:
      'leaves both names of that label as they are, writes all others, and says so: `LabelsKeptForCSI`',
    because: 'Without the driver, the Node has no volumes.',
    explains({ part, rollcall }, { case: { node = {} } }) {
      const label = labelOf(part)
      const keys = node.topologyKeys ?? []
      return (
        label !== undefined &&
        keys.some((key) => key.endsWith(`/${label}`) && node.labels?.[key] !== undefined) &&
        rollcall === node.labels?.[part.slice('label '.length)]
      )
    },
  },
  {
    what: 'Guest IDs `rhel8_64Guest`, `rhel9_64Guest` and `rhel10_64Guest` in the instance type',
    cpi: '`os-unknown`; from 1.37 on, as in Rollcall',
    rollcall:
      '`os-rhel8`, `os-rhel9`, `os-rhel10` for new Nodes; an existing label stays, and the condition says so',
    because: 'The next CPI does the same.',
    explains: ({ part, cpi }, { case: one }) =>
      part.endsWith('/instance-type') &&
      /^rhel(8|9|10)_64Guest$/.test(one.vm?.guestID ?? '') &&
      String(cpi).endsWith('.os-unknown'),
  },
  {
    what: "A guest whose host name is not the Node's name, such as `localhost`, one with a domain, or none",
    cpi: 'a new Node stays uninitialized unless it has a provider ID; without a name, in any case',
    rollcall: 'initializes it; the VM is found only by its UUID',
    because: 'A host name may come late, be empty for a while, or be chosen by somebody else.',
    explains({ part, cpi }, { case: one }) {
      const { vm = {}, node = {} } = one
      if (vm.hostName === '') return givesUp(part, one)
      const isOther = vm.hostName !== undefined || vm.nameOfPrevious === true
      return part === 'initialized' && cpi === false && isOther && node.providerID === undefined
    },
  },
  {
    what: "The `Hostname` among the addresses, where the guest's host name is not the Node's",
    cpi: "the guest's",
    rollcall:
      "the one that the kubelet gave the Node, otherwise the guest's, otherwise the Node's name; never another Node's",
    because: 'The kubelet requested its certificate for that name.',
    explains: ({ part, cpi, rollcall }, { case: { vm = {} } }) =>
      part === 'addresses' &&
      (vm.hostName !== undefined || vm.nameOfPrevious === true) &&
      JSON.stringify(cpi).replace(/"Hostname","address":"[^"]*"/, '') ===
        JSON.stringify(rollcall).replace(/"Hostname","address":"[^"]*"/, ''),
  },
  {
    what: "A Node whose UUID no VM has, or that has none, while some guest has the Node's name as its host name or address",
    cpi: 'takes that VM',
    rollcall: 'the Node stays uninitialized, and the condition says which UUID was looked for',
    because: 'The guest chooses names and addresses: by them one node could pass for another.',
    explains: ({ part, cpi }, { case: one }) =>
      part === 'initialized' &&
      cpi === true &&
      ['unknown', 'malformed', 'empty'].includes(one.node?.systemUUID ?? ''),
  },
  {
    what: 'Two guests with one host name, which is that of a Node',
    byChance: true,
    cpi: 'takes either for a Node without a provider ID, also the one whose UUID is not that of the Node',
    rollcall: 'takes the one with the UUID of the Node',
    because: 'The guest chooses its name.',
    explains: ({ part, cpi }, { scenario: { cases }, case: one }) =>
      part !== 'exists' &&
      one.node?.providerID === undefined &&
      (part !== 'initialized' || cpi === true) &&
      (cases[cases.indexOf(one) + 1]?.vm?.nameOfPrevious === true ||
        cases.filter(({ vm = {} }) => vm.hostName !== undefined && vm.hostName === one.node?.name).length >
          0),
  },
  {
    what: 'Two VMs with one BIOS UUID, of which one is off',
    byChance: true,
    cpi: 'takes either',
    rollcall: 'takes the one that runs',
    because: 'A kubelet does not report from a machine that is off.',
    explains: ({ part }, { scenario: { cases }, case: one }) =>
      part !== 'exists' && pairOf(cases, one).some(({ vm = {} }) => vm.powerState !== undefined),
  },
  {
    what: 'Two VMs with one BIOS UUID, both of which run',
    cpi: 'takes either',
    rollcall:
      'a new Node stays uninitialized, and the condition names both; an initialized one keeps what it has',
    because: 'One of them is a copy, and without an agent nothing tells which.',
    explains: ({ part }, { scenario: { cases }, case: one }) =>
      part !== 'exists' && pairOf(cases, one).length === 2,
  },
  {
    what: 'A provider ID that is a UUID alone, without `vsphere://`',
    cpi: 'reads it',
    rollcall: 'says `ProviderIDMalformed`, and changes nothing on the Node',
    because: "Kubernetes' format is `PROVIDER://ID`, and a provider ID cannot be changed.",
    explains: ({ part }, { case: one }) =>
      (part === 'initialized' || part === 'addresses' || part.startsWith('label ')) &&
      one.node?.providerID === 'bare',
  },
  {
    what: "A Node that is not Ready, with another provider's provider ID, or with one whose UUID is none",
    cpi: 'deletes the Node, also a new one',
    rollcall: 'keeps the Node',
    because:
      'What names no VM says nothing of whether the machine is there (kubernetes/cloud-provider-vsphere#538).',
    explains: ({ part, cpi }, { case: { node = {} } }) =>
      part === 'exists' &&
      cpi === false &&
      node.ready !== undefined &&
      (node.providerID === 'malformed' || node.providerID === 'foreign'),
  },
  {
    what: 'The shutdown taint on an initialized Node whose provider ID is missing or names no machine, and which is Ready',
    cpi: 'removes it',
    rollcall: 'leaves the Node alone',
    because: 'Nobody knows whether its machine is off.',
    explains: ({ part }, { case: { node = {} } }) =>
      part === 'taints' &&
      node.shutdownTaint === true &&
      ![undefined, 'empty', 'malformed', 'foreign', 'bare'].every((each) => each !== node.providerID),
  },
  {
    what: "Labels of another provider's Nodes: a beta label for zone or region that has no or another value than the label itself",
    cpi: 'writes the value of the beta label into the label, on each Node of the cluster',
    rollcall: 'touches no Node of another provider',
    because: 'They are not its own.',
    explains: ({ part, cpi }, { case: { node = {} } }) =>
      labelOf(part) !== undefined &&
      (node.providerID === 'foreign' || node.providerID === 'bare') &&
      node.labels?.[`failure-domain.beta.kubernetes.io/${labelOf(part)}`] === cpi,
  },
  {
    what: 'The machine of an initialized Node was gone before the provider first saw it, and the Node is not Ready',
    cpi: 'deletes the Node',
    rollcall:
      'keeps the Node, and says `NotBound`; with `lifecycle.unbound: delete` it is deleted after six times `lifecycle.absentFor`',
    because: 'A search by UUID alone finds no VM whose datastore is away, either.',
    explains: ({ part, cpi }, { case: { vm = {}, node = {} } }) =>
      part === 'exists' && cpi === false && vm.gone === true && node.ready !== undefined,
  },
  {
    what: 'One category for both zone and region',
    cpi: 'sees the zone alone, so that the Node stays uninitialized',
    rollcall: 'writes the tag into both',
    because: 'It was asked for.',
    explains: ({ part }, { scenario: { oneCategory }, case: one }) =>
      oneCategory === true && (givesUp(part, one) || labelOf(part) !== undefined),
  },
  {
    what: '`--node-ip` `::` or `0.0.0.0`, by which a kubelet asks for a family',
    cpi: 'the Node stays uninitialized',
    rollcall: 'counts it as not set; `ipFamily` decides',
    because: 'It names no address.',
    explains: ({ part }, { case: one }) => givesUp(part, one) && one.node?.nodeIP === '::',
  },
  {
    what: 'An address with leading zeros in `alpha.kubernetes.io/provided-node-ip`: `10.0.000.003`',
    cpi: 'reads it as decimal',
    rollcall: 'the Node stays uninitialized, and the condition says so',
    because: 'Others read it as octal; kubelets write none.',
    explains: ({ part, cpi }, { case: one }) =>
      part === 'initialized' && cpi === true && /\.0\d/.test(one.node?.nodeIP ?? ''),
  },
  {
    what: 'A family of `ipFamily` has no address, or only excluded ones',
    cpi: 'a new Node stays uninitialized, without addresses; a running one keeps what it had, the other family too',
    rollcall:
      'the other family is written; a new Node keeps its taint until both are there, unless `nodes.requireAllFamilies` is `false`; a running Node keeps its address of that family, and if it had none, `FamilyMissing` says so',
    because: 'The addresses that exist can be used, and kept current.',
    explains: ({ part, rollcall }, { scenario, case: one }) =>
      part === 'addresses' &&
      (lacksFamily(scenario, one) || isOfOneFamily(rollcall, familiesOf(scenario, one))),
  },
  {
    what: 'The same, and `--node-ip` is of the other family alone',
    cpi: 'the Node stays uninitialized',
    rollcall: 'it is initialized with that family',
    because: 'The other one would not be written anyway.',
    explains: ({ part, cpi }, { scenario, case: one }) =>
      part === 'initialized' && cpi === false && lacksFamily(scenario, one) && choseItsOwn(one),
  },
  {
    what: '`--node-ip` with a space after the comma, or empty',
    cpi: 'the Node stays uninitialized',
    rollcall: 'it is read, or counts as not set',
    because: 'The meaning is clear.',
    explains: ({ part, cpi }, { case: one }) =>
      part === 'initialized' && cpi === false && /, |^$/.test(one.node?.nodeIP ?? '-'),
  },
  {
    what: '`--node-ip` is on the VM, but is not what subnets, networks or order would choose',
    cpi: 'a new Node stays uninitialized, an initialized one no longer gets addresses',
    rollcall: 'it is used, unless it is excluded',
    because: 'Whoever configured the kubelet chose that address.',
    explains: ({ part }, { scenario, case: one }) =>
      givesUp(part, one) && !lacksFamily(scenario, one) && choseItsOwn(one),
  },
  {
    what: 'Spaces in a list of subnets: `10.0.0.0/8, fd00::/8`',
    cpi: 'a new Node stays uninitialized, an initialized one no longer gets addresses',
    rollcall: 'they are ignored',
    because: 'The meaning is clear.',
    explains: ({ part }, { scenario: { nodes = {} }, case: one }) =>
      givesUp(part, one) && Object.values(nodes).some((list) => /, |\/\d+ /.test(list)),
  },
  {
    what: 'Multicast and broadcast addresses',
    cpi: 'are taken',
    rollcall: 'are not',
    because: 'No machine can be reached by them.',
    explains: ({ part }, { case: one }) =>
      (part === 'addresses' || part === 'initialized') &&
      addressesOf(one).some((address) => /^(22[4-9]|23\d|255\.255\.255\.255|ff)/.test(address)),
  },
  {
    what: 'A datacenter in the configuration that vCenter does not have, and a firmware that reports the UUID as vCenter has it',
    cpi: 'a Node with a provider ID stays uninitialized: after the error, no other byte order is tried',
    rollcall: 'initializes it',
    because: 'One wrong name should not affect machines in other datacenters.',
    explains: ({ part, cpi }, { scenario: { datacenters = [] }, case: one }) =>
      part === 'initialized' &&
      cpi === false &&
      datacenters.includes('is-not-there') &&
      one.node?.systemUUID === 'plain',
  },
  {
    what: 'A provider ID in the byte order of the in-tree provider',
    cpi: 'a new Node stays uninitialized, an initialized one gets no addresses',
    rollcall: 'recognizes the VM, and leaves the provider ID as it is',
    because: 'Nobody can change a provider ID; kubernetes-sigs/vsphere-csi-driver#592.',
    explains: ({ part }, { case: one }) =>
      one.node?.providerID === 'swapped' && (part === 'initialized' || part === 'addresses'),
  },
  {
    what: "A Node with the provider ID of a VM that is another Node's",
    cpi: 'initializes both, the one with the zone and addresses of the other',
    rollcall:
      'the Node that was verified before is not affected; if neither was, neither is initialized, and the conditions of both say so',
    because: "One of them is not what it claims to be, and would get the other's traffic.",
    explains({ part, cpi }, { scenario: { cases }, case: one }) {
      const claims = one.node?.providerID === 'previous'
      const isClaimed = cases[cases.indexOf(one) + 1]?.node?.providerID === 'previous'
      if (part === 'addresses') return one.node?.untainted === true && (claims || isClaimed)
      return part === 'initialized' && cpi === true && (claims || isClaimed)
    },
  },
  {
    what: 'An initialized Node without a provider ID',
    cpi: 'writes the addresses of the VM whose guest has its name',
    rollcall: 'leaves it alone',
    because: 'It asks for no cloud provider, and names identify nothing.',
    explains: ({ part }, { case: { node = {} } }) =>
      part === 'addresses' && node.untainted === true && node.providerID === undefined,
  },
  {
    what: 'A Node whose VM is off or suspended',
    cpi: 'initializes it with what the guest last reported',
    rollcall: 'waits until it runs; an initialized one keeps its addresses',
    because:
      'A kubelet does not register from a machine that is off: the Node belongs to another machine, or this one is just shutting down.',
    explains: ({ part, cpi }, { case: one }) =>
      one.vm?.powerState !== undefined &&
      ((part === 'initialized' && cpi === true) || (part === 'addresses' && one.node?.untainted === true)),
  },
]

/** The two machines that have one BIOS UUID, if this is one of them. */
function pairOf(cases: Scenario['cases'], one: ScenarioCase): readonly ScenarioCase[] {
  const index = cases.indexOf(one)
  const next = cases[index + 1]
  const before = cases[index - 1]
  if (one.vm?.uuidOfPrevious === true && before !== undefined) return [before, one]
  return next?.vm?.uuidOfPrevious === true ? [one, next] : []
}

/** Whether this is what comes of it where the CPI gives a Node up, by what Rollcall does to it. */
function givesUp(part: NodeDifference['part'], { node = {} }: ScenarioCase): boolean {
  return part === (node.untainted === true ? 'addresses' : 'initialized')
}

/** Without their prefix lengths, as VMware Tools report them of the vNICs; one of IPv4 unless the case says more. */
function addressesOf({ vm = {} }: ScenarioCase): readonly string[] {
  return (vm.nics ?? [{ addresses: ['10.0.0.1/16'] }])
    .filter(({ deviceConfigId }) => deviceConfigId !== -1)
    .flatMap((nic) => nic.addresses.map((address) => address.split('/')[0] ?? ''))
}

/** Those that are configured for the vCenter of its machine. */
function familiesOf(
  { ipFamily = ['ipv4'], second = {} }: Scenario,
  { vm = {} }: ScenarioCase,
): readonly IPFamily[] {
  return vm.second === true ? (second.ipFamily ?? ipFamily) : ipFamily
}

/** Whether one family alone is among a Node's addresses where two are configured. */
function isOfOneFamily(addresses: unknown, families: readonly IPFamily[]): boolean {
  const texts = Array.isArray(addresses) ? addresses.map((each: { address: string }) => each.address) : []
  return families.length === 2 && texts.some((each) => isIPv4(each)) !== texts.some((each) => isIPv6(each))
}

/** Whether all that the kubelet was given is on the machine. */
function choseItsOwn(one: ScenarioCase): boolean {
  const { nodeIP } = one.node ?? {}
  return nodeIP?.split(',').every((address) => addressesOf(one).includes(address)) === true
}

/** Whether a machine with addresses has none of a family that is configured. */
function lacksFamily(scenario: Scenario, one: ScenarioCase): boolean {
  const usable = addressesOf(one).filter((address) => !/^(127\.|169\.254\.|fe80:|::1$)/.test(address))
  const has = { ipv4: usable.some((each) => isIPv4(each)), ipv6: usable.some((each) => isIPv6(each)) }
  return usable.length > 0 && familiesOf(scenario, one).some((family) => !has[family])
}

function labelOf(part: NodeDifference['part']): Label | undefined {
  const name = /^label (?:topology|failure-domain\.beta)\.kubernetes\.io\/(zone|region)$/.exec(part)?.[1]
  return name === 'zone' || name === 'region' ? name : undefined
}

/** The row that says why they differ there; undefined where none does. */
export function explain(difference: NodeDifference, compared: ComparedNode): NodeRow | undefined {
  return ON_NODES.find((row) => row.explains(difference, compared))
}

export const PAGE = join(import.meta.dirname, '../../docs/differences.md')

/** Returns the page's text with its tables as they should be. */
export function withTables(page: string): string {
  const files = withTable(page, 'differences', 'in the file', IN_FILES)
  return withTable(files, 'node', 'on a Node', ON_NODES)
}

/** Writes the table between `<!-- generated: NAME -->` and `<!-- end -->`. */
function withTable(page: string, name: string, where: string, rows: readonly Difference[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const header = [where, 'the CPI', 'Rollcall', 'because']
  const table = [
    line(header),
    line(header.map(() => '---')),
    ...rows.map(({ what, cpi, rollcall, because }) => line([what, cpi, rollcall, because])),
  ].join('\n')
  return page.replace(
    new RegExp(`(<!-- generated: ${name} -->\\n)[\\s\\S]*?(\\n<!-- end -->)`),
    (_, begin: string, end: string) => `${begin}${table}${end}`,
  )
}

async function main(): Promise<void> {
  await writeFile(PAGE, withTables(await readFile(PAGE, 'utf8')))
}

if (import.meta.main) runAsProgram(main)
