/** Each refusal of a new Node: its condition, its Event, and that it is said once. */
import t from 'tap'
import { type ConditionType, FACT_SERIAL_UUID } from '../../../../agent/shared/node-report.ts'
import {
  BIOS_UUID,
  boundVM,
  decide,
  facts,
  MAC,
  NODE_UID,
  node,
  report,
  spec,
  vm,
} from '../../../../test/fixtures/facts.ts'
import { NO_WITNESS } from './addresses/usable-addresses.ts'
import type { Decision } from './decision.ts'
import type { NodeFacts } from './node-facts.ts'

function condition(decision: Decision, type: ConditionType) {
  return decision.status?.conditions?.find((candidate) => candidate.type === type)
}

function reported(changes: Parameters<typeof spec>[0]): NodeFacts['report'] {
  return report({ spec: { ok: true, value: spec(changes) } })
}

const REFUSALS: {
  name: string
  facts: NodeFacts
  condition: ConditionType
  reason: string
  words: RegExp
}[] = [
  {
    name: 'no VM has the UUID',
    facts: facts({ vms: [] }),
    condition: 'VMFound',
    reason: 'NoVMWithUUID',
    words: /vc1.*System\.Read/,
  },
  {
    name: 'no VM has the UUID, and another UUID is searched for too',
    facts: facts({
      lookups: [BIOS_UUID, '430e3f74-ea84-f9a2-7736-6106bb5dbf6b'].map((uuid) => ({
        vCenter: 'vc1',
        uuid,
        lookup: { state: 'answered', vms: [] },
      })),
    }),
    condition: 'VMFound',
    reason: 'NoVMWithUUID',
    words: /in vCenter vc1; check/,
  },
  {
    name: 'two VMs have the UUID and neither claim nor MAC tells them apart',
    facts: facts({
      vms: [vm({ claim: undefined }), vm({ moref: 'vm-43', name: 'copy', claim: undefined })],
    }),
    condition: 'VMFound',
    reason: 'AmbiguousUUID',
    words: /vm-42.*vm-43/,
  },
  {
    name: 'a copied VM carries a copied claim',
    facts: facts({ vms: [vm(), vm({ moref: 'vm-43', name: 'copy' })] }),
    condition: 'VMFound',
    reason: 'AmbiguousUUID',
    words: /copy/,
  },
  {
    name: 'the UUID is that of a template',
    facts: facts({ vms: [vm({ template: true })] }),
    condition: 'VMFound',
    reason: 'VMIsTemplate',
    words: /template/,
  },
  {
    name: 'the agent could not read the serial',
    facts: facts({
      report: reported({
        machine: {},
        unreadable: [
          { fact: FACT_SERIAL_UUID, reason: 'PermissionDenied', message: 'run the agent as root' },
        ],
      }),
    }),
    condition: 'VMFound',
    reason: 'NoSerial',
    words: /run the agent as root.*PermissionDenied/,
  },
  {
    name: 'there is no serial and no reason',
    facts: facts({ report: reported({ machine: {} }) }),
    condition: 'VMFound',
    reason: 'NoSerial',
    words: /root/,
  },
  {
    name: 'the VM lies in a datacenter that is not configured',
    facts: facts({ settings: { ...facts().settings, datacenters: { vc1: ['DC1'] } } }),
    condition: 'VMFound',
    reason: 'DatacenterOutOfScope',
    words: /DC0/,
  },
  {
    name: 'serial and product UUID contradict each other',
    facts: facts({ report: reported({ machine: { serialUUID: BIOS_UUID, productUUID: NODE_UID } }) }),
    condition: 'IdentityVerified',
    reason: 'UUIDsContradict',
    words: /product_uuid/,
  },
  {
    name: 'no MAC of the guest is a vNIC of the VM',
    facts: facts({ vms: [vm({ nics: [{ mac: '00:50:56:8e:ff:ff' }] })] }),
    condition: 'IdentityVerified',
    reason: 'MACsContradict',
    words: new RegExp(`${MAC}.*macaddress, cloned-mac-address.*where the report comes from`),
  },
  {
    name: 'the VM says that it is another Node',
    facts: facts({
      vms: [vm({ claim: `v1 ${BIOS_UUID} -` })],
      nodeByUID: (uid) =>
        uid === BIOS_UUID ? { name: 'victim', boundTo: undefined, uuids: [BIOS_UUID] } : undefined,
    }),
    condition: 'IdentityVerified',
    reason: 'ClaimedByAnotherNode',
    words: /victim/,
  },
  {
    name: 'another Node points to the VM and no claim decides',
    facts: facts({
      vms: [vm({ claim: undefined })],
      rivals: [
        {
          name: 'worker-2',
          deletingSince: undefined,
          finalizers: [],
          boundTo: undefined,
          level: undefined,
          spec: undefined,
        },
      ],
    }),
    condition: 'IdentityVerified',
    reason: 'VMHasAnotherNode',
    words: /worker-2/,
  },
  {
    name: 'the provider ID, which cannot change, is that of another VM',
    facts: facts({ node: node({ providerID: `vsphere://${NODE_UID}` }) }),
    condition: 'IdentityVerified',
    reason: 'ProviderIDOfAnotherVM',
    words: /kubectl delete node worker-1, then restart the kubelet/,
  },
  ...[
    'rke2://worker-1',
    `openstack:///${BIOS_UUID}`,
    `nutanix://${BIOS_UUID}`,
    'ocid1.instance.oc1.phx.abyhqljt',
    'worker-1',
  ].map((providerID) => ({
    name: `the provider ID is another provider’s: ${providerID}`,
    facts: facts({ node: node({ providerID }) }),
    condition: 'IdentityVerified' as const,
    reason: 'ForeignProviderID',
    words: new RegExp(providerID),
  })),
  ...[
    'vsphere://',
    `vsphere://${BIOS_UUID.replaceAll('-', '')}`,
    'vsphere://$UUID',
    BIOS_UUID,
    `vspehre://${BIOS_UUID}`,
    `sphere://${BIOS_UUID}`,
    BIOS_UUID.replaceAll('-', '_'),
    '<uuid>',
    '%UUID%',
    'None',
  ].map((providerID) => ({
    name: `the provider ID is ${providerID}`,
    facts: facts({ node: node({ providerID }) }),
    condition: 'IdentityVerified' as const,
    reason: 'ProviderIDMalformed',
    words: /correct the kubelet's --provider-id or leave it out, and only then: kubectl delete node worker-1/,
  })),
  {
    name: 'the report is about a former Node of this name',
    facts: facts({ report: reported({ nodeUID: BIOS_UUID }) }),
    condition: 'IdentityVerified',
    reason: 'ReportOfFormerNode',
    words: /restart/,
  },
  {
    name: 'the report is not valid',
    facts: facts({
      report: report({ spec: { ok: false, problems: ['spec.nodeUID: expected a UUID, got null'] } }),
    }),
    condition: 'IdentityVerified',
    reason: 'ReportInvalid',
    words: /spec\.nodeUID/,
  },
  {
    name: 'there is no address',
    facts: facts({
      report: reported({ interfaces: [{ name: 'ens192', mac: MAC, defaultRoute: true, addresses: [] }] }),
    }),
    condition: 'AddressesResolved',
    reason: 'NoAddress',
    words: /ens192/,
  },
  {
    name: 'the kubelet asks for an address that the VM does not have',
    facts: facts({ node: node({ providedNodeIP: '10.9.9.9' }) }),
    condition: 'AddressesResolved',
    reason: 'ProvidedIPNotOnVM',
    words: /10\.9\.9\.9/,
  },
]

for (const row of REFUSALS) {
  t.test(`refuses where ${row.name}`, async (t) => {
    const decision = decide(row.facts)
    t.equal(decision.state, 'refused')
    t.same(decision.refusal, { condition: row.condition, reason: row.reason })
    t.equal(decision.patch, undefined, 'the Node is not touched')
    t.match(condition(decision, row.condition), { status: 'False', reason: row.reason, message: row.words })
    t.match(condition(decision, 'Initialized'), { status: 'False', reason: row.reason })
    t.match(decision.events, [{ type: 'Warning', reason: row.reason, message: row.words }])

    const again = decide({
      ...row.facts,
      report: report({ ...row.facts.report, status: decision.status ?? {} }),
    })
    t.same(again.events, [], 'said once')
    t.same(again.status, decision.status)
  })
}

t.test('a provider ID that names no VM is said also where no agent reports', async (t) => {
  for (const taints of [node().taints, []]) {
    const decision = decide(facts({ node: node({ providerID: BIOS_UUID, taints }), report: undefined }))
    t.equal(decision.state, 'waiting')
    t.same(decision.refusal, { condition: 'Initialized', reason: 'ProviderIDMalformed' })
    t.match(decision.events, [
      { type: 'Warning', reason: 'ProviderIDMalformed', message: new RegExp(BIOS_UUID) },
    ])
    t.equal(decision.patch, undefined)
  }
})

t.test('an address that another Node was given since is no longer said to be its own', async (t) => {
  const lost = { type: 'InternalIP', address: '10.0.0.5' } as const
  const own = { type: 'InternalIP', address: 'fd00::5' } as const
  const status = {
    nodeUID: NODE_UID,
    identityLevel: 'proven',
    vm: boundVM(),
    addresses: [{ type: 'Hostname', address: 'worker-1' }, lost, own],
  } as const
  const held = (verified: boolean) =>
    facts({
      node: node({ taints: [], addresses: [lost, own] }),
      report: report({ status }),
      vms: [],
      addressHolder: (address) =>
        address === lost.address
          ? {
              name: 'worker-2',
              deletingSince: undefined,
              finalizers: [],
              creationTimestamp: undefined,
              verified,
              witness: NO_WITNESS,
              unseen: undefined,
            }
          : undefined,
    })
  const decision = decide(held(true))
  t.match(condition(decision, 'AddressesResolved'), {
    status: 'False',
    reason: 'AddressOfAnotherNode',
    message: /10\.0\.0\.5 \(of Node worker-2\).*once its VM is found/,
  })
  t.ok(decision.events.some(({ reason }) => reason === 'AddressOfAnotherNode'))
  t.same(
    decision.status?.addresses?.map(({ address }) => address),
    ['worker-1', own.address],
    'the Node does not hold it any more',
  )
  t.equal(decision.patch, undefined, 'what it shows stays until its VM is verified again')

  const claimed = decide(held(false))
  t.equal(condition(claimed, 'AddressesResolved'), undefined, 'a claim alone takes none')
})
