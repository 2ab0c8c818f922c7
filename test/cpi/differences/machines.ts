/** Where Rollcall means to differ in which machine a Node is. */
import type { Scenario, ScenarioCase } from '../scenario.ts'
import { givesUp, type NodeRow } from './row.ts'

export const IN_MACHINES: readonly NodeRow[] = [
  {
    what: "A guest whose host name is not the Node's name, or that has none",
    cpi: 'is stuck, unless the Node has a provider ID and the guest a name',
    rollcall: 'initializes it; only the UUID counts',
    because: 'A host name may come late, or be chosen by somebody else.',
    explains({ part, cpi }, { case: one }) {
      const { vm = {}, node = {} } = one
      if (vm.hostName === '') return givesUp(part, one)
      const isOther = vm.hostName !== undefined || vm.nameOfPrevious === true
      return part === 'initialized' && cpi === false && isOther && node.providerID === undefined
    },
  },
  {
    what: "A Node whose UUID no VM has, while some guest has the Node's name or address",
    cpi: 'takes that VM',
    rollcall: 'leaves it uninitialized, and says which UUID was looked for',
    because: 'By names one node could pass for another.',
    explains: ({ part, cpi }, { case: one }) =>
      part === 'initialized' &&
      cpi === true &&
      ['unknown', 'malformed', 'empty'].includes(one.node?.systemUUID ?? ''),
  },
  {
    what: 'Two guests with the host name of a Node without a provider ID',
    byChance: true,
    cpi: 'takes either',
    rollcall: "takes the one with the Node's UUID",
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
    explains: ({ part }, { scenario: { cases }, case: one }) =>
      part !== 'exists' && pairOf(cases, one).some(({ vm = {} }) => vm.powerState !== undefined),
  },
  {
    what: 'Two VMs with one BIOS UUID, both of which run',
    cpi: 'takes either',
    rollcall: 'leaves a new Node uninitialized, and names both; an initialized one keeps what it has',
    because: 'One is a copy.',
    explains: ({ part }, { scenario: { cases }, case: one }) =>
      part !== 'exists' && pairOf(cases, one).length === 2,
  },
  {
    what: "A Node with the provider ID of a VM that is another Node's",
    cpi: 'initializes both',
    rollcall: 'keeps the one that was verified before; if neither was, neither is initialized',
    because: "One would get the other's traffic.",
    explains({ part, cpi }, { scenario: { cases }, case: one }) {
      const claims = one.node?.providerID === 'previous'
      const isClaimed = cases[cases.indexOf(one) + 1]?.node?.providerID === 'previous'
      if (part === 'addresses') return one.node?.untainted === true && (claims || isClaimed)
      return part === 'initialized' && cpi === true && (claims || isClaimed)
    },
  },
  {
    what: 'A provider ID in the byte order of the in-tree provider',
    cpi: 'is stuck; if one is not Ready, the CPI keeps crashing',
    rollcall: 'recognizes the VM, and leaves the provider ID as it is',
    because: 'See kubernetes-sigs/vsphere-csi-driver#592.',
    explains: ({ part }, { case: one }) =>
      one.node?.providerID === 'swapped' && (part === 'initialized' || part === 'addresses'),
  },
  {
    what: 'A provider ID that is a UUID alone, without `vsphere://`',
    cpi: 'reads it',
    rollcall: 'says `ProviderIDMalformed`, and changes nothing',
    explains: ({ part }, { case: one }) =>
      (part === 'initialized' || part === 'addresses' || part.startsWith('label ')) &&
      one.node?.providerID === 'bare',
  },
  {
    what: 'An initialized Node without a provider ID',
    cpi: 'writes the addresses of the VM whose guest has its name',
    rollcall: 'leaves it alone',
    because: 'It asks for no cloud provider.',
    explains: ({ part }, { case: { node = {} } }) =>
      part === 'addresses' && node.untainted === true && node.providerID === undefined,
  },
  {
    what: 'A datacenter that vCenter does not have, and a firmware that reports the UUID as vCenter has it',
    cpi: 'is stuck if the Node has a provider ID',
    rollcall: 'initializes it',
    because: 'A wrong name should not affect other datacenters.',
    explains: ({ part, cpi }, { scenario: { datacenters = [] }, case: one }) =>
      part === 'initialized' &&
      cpi === false &&
      datacenters.includes('is-not-there') &&
      one.node?.systemUUID === 'plain',
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
