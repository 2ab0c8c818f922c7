/** Where Rollcall means to differ in which machine a Node is. */
import type { NodeDifference, NodeOfEach } from '../compare-nodes.ts'
import { fits, isOff, runningOf } from '../documented-rules.ts'
import { hasIgnoredEntry, isOutOfScope, isOutOfScopeOfCPI } from '../places.ts'
import type { Scenario, ScenarioCase } from '../scenario.ts'
import { isShort } from './addresses.ts'
import { givesUp, type NodeRow, pairOf } from './row.ts'

export const IN_MACHINES: readonly NodeRow[] = [
  {
    what: "Guest without the Node's name as host name",
    cpi: 'is stuck, unless the Node has a provider ID and the guest a name',
    rollcall: 'initializes it; only the UUID counts',
    explains({ part, cpi }, { case: one }) {
      const { vm = {}, node = {} } = one
      if (vm.hostName === '') return givesUp(part, one)
      const isOther = vm.hostName !== undefined || vm.nameOfPrevious === true
      return part === 'initialized' && cpi === false && isOther && node.providerID === undefined
    },
  },
  {
    what: 'Node whose UUID no VM has, while a guest has its name or address',
    cpi: 'takes that VM',
    rollcall: 'leaves it uninitialized, and names the UUID',
    explains: ({ part, cpi }, { case: one }) =>
      part === 'initialized' &&
      cpi === true &&
      ['unknown', 'malformed', 'empty'].includes(one.node?.systemUUID ?? ''),
  },
  {
    what: 'Not-ready, initialized Node whose kubelet reports no UUID, without an agent, and whose provider ID is that of a VM',
    cpi: "writes that VM's addresses",
    rollcall: 'leaves it as it is: `NoSystemUUID`',
    explains: ({ part }, { case: { node = {} } }) =>
      part === 'addresses' &&
      node.untainted === true &&
      (node.ready ?? 'True') !== 'True' &&
      ['malformed', 'empty'].includes(node.systemUUID ?? ''),
  },
  {
    what: 'Another guest with the host name of a Node without provider ID',
    byChance: true,
    cpi: "may take its VM; that VM's own Node may then get no addresses",
    rollcall: "takes the one with the Node's UUID",
    explains(difference, { scenario, scenario: { cases }, case: one, before }) {
      const { vm = {}, node = {} } = one
      const previous = cases[cases.indexOf(one) - 1]
      const isTaken = vm.nameOfPrevious === true && previous?.node?.providerID === undefined
      if (isTaken && node.untainted === true && difference.part === 'addresses') return true
      return (
        (node.providerID === undefined || hasTwoMachines(before)) &&
        (mistakes(difference, scenario, one) ||
          (difference.part === 'initialized' && difference.cpi === true && isShort(scenario, one))) &&
        (cases[cases.indexOf(one) + 1]?.vm?.nameOfPrevious === true ||
          cases.filter(({ vm = {} }) => vm.hostName !== undefined && vm.hostName === node.name).length > 0)
      )
    },
  },
  {
    what: 'Two VMs with one BIOS UUID, one of them off',
    byChance: true,
    cpi: 'takes either',
    rollcall: 'takes the running one',
    explains: (difference, { scenario, case: one }) =>
      pairOf(scenario.cases, one).filter(isOff).length === 1 &&
      mistakes(difference, scenario, runningOf(scenario, one)),
  },
  {
    what: 'Two VMs with one BIOS UUID that both run',
    cpi: 'takes either',
    rollcall: 'leaves a new Node uninitialized, and names both; an initialized one stays',
    explains({ part }, { scenario: { cases }, case: one }) {
      const pair = pairOf(cases, one)
      return part !== 'exists' && pair.length === 2 && pair.filter(isOff).length !== 1
    },
  },
  {
    what: "Node with the UUID or provider ID of another Node's VM",
    cpi: 'initializes both',
    rollcall: 'keeps the one verified before; otherwise initializes neither',
    because: "One would get the other's traffic.",
    explains({ part, cpi }, { scenario: { cases }, case: one }) {
      const claims = pointsToPrevious(one)
      const isClaimed = pointsToPrevious(cases[cases.indexOf(one) + 1])
      if (part === 'addresses') return one.node?.untainted === true && (claims || isClaimed)
      return part === 'initialized' && cpi === true && (claims || isClaimed)
    },
  },
  {
    what: 'Provider ID in the byte order of the in-tree provider',
    cpi: 'is stuck; if one is not Ready, keeps crashing',
    rollcall: 'recognizes the VM, and leaves the ID',
    because: 'See kubernetes-sigs/vsphere-csi-driver#592.',
    explains: ({ part }, { case: one }) =>
      one.node?.providerID === 'swapped' && (part === 'initialized' || part === 'addresses'),
  },
  {
    what: 'Provider ID without `vsphere://`',
    cpi: 'reads it',
    rollcall: 'changes nothing: `ProviderIDMalformed`',
    explains: ({ part }, { case: one }) =>
      (part === 'initialized' || part === 'addresses' || part.startsWith('label ')) &&
      one.node?.providerID === 'bare',
  },
  {
    what: 'Initialized Node without a provider ID',
    cpi: 'writes the addresses of the VM whose guest has its name',
    rollcall: 'leaves it alone',
    explains: ({ part }, { case: { node = {} } }) =>
      part === 'addresses' && node.untainted === true && node.providerID === undefined,
  },
  {
    what: 'Entry of `datacenters` that matches several (`dc-*`), or has `%2F` for `%2f`',
    cpi: 'is ignored',
    rollcall: 'counts',
    explains: ({ part }, { scenario, case: one }) =>
      givesUp(part, one) && isOutOfScopeOfCPI(scenario, one) && !isOutOfScope(scenario, one),
  },
  {
    what: 'Unknown datacenter, or such an entry, and firmware that reports the UUID as vCenter does',
    cpi: 'is stuck if the Node has a provider ID',
    rollcall: 'initializes it',
    explains: ({ part, cpi }, { scenario, case: one }) =>
      part === 'initialized' &&
      cpi === false &&
      (scenario.datacenters?.includes('is-not-there') === true || hasIgnoredEntry(scenario, one)) &&
      ['plain', 'upper'].includes(one.node?.systemUUID ?? ''),
  },
]

/** Whether the providers have written the IDs of two machines, so that each sees what becomes of its own. */
function hasTwoMachines(before: NodeOfEach | undefined): boolean {
  return before?.cpi !== undefined && before.cpi.spec.providerID !== before.rollcall.spec.providerID
}

/** Whether its Node points to the machine of the case before. */
function pointsToPrevious({ vm = {}, node = {} }: ScenarioCase = { name: '' }): boolean {
  const { systemUUID = 'swapped' } = node
  return (
    node.providerID === 'previous' ||
    (vm.uuidOfPrevious === true && ['swapped', 'plain', 'upper'].includes(systemUUID))
  )
}

/** Whether they differ because the CPI took another machine than this one, which Rollcall took. */
function mistakes(
  { part, cpi, rollcall }: NodeDifference,
  scenario: Scenario,
  machine: ScenarioCase,
): boolean {
  // The other machine's guest may have another name, or no address: the CPI then gives up.
  if (part === 'exists' || part === 'initialized') return part === 'initialized' && rollcall === true
  const [right, theirs] = [fits(part, rollcall, scenario, machine), fits(part, cpi, scenario, machine)]
  return right !== false && theirs !== true
}
