/** Where Rollcall means to differ in what becomes of a Node whose machine is off or gone. */
import { isDeepStrictEqual } from 'node:util'
import { isShutDown } from '../../world/objects.ts'
import { SHUTDOWN_TAINT } from '../kubelet-node.ts'
import { isOutOfScopeOfCPI } from '../places.ts'
import type { NodeRow } from './row.ts'

export const IN_LIFECYCLE: readonly NodeRow[] = [
  {
    what: 'Node whose VM is off or suspended',
    cpi: 'initializes it',
    rollcall: 'waits until it runs; an initialized one keeps its addresses',
    explains: ({ part, cpi }, { case: one }) =>
      one.vm?.powerState !== undefined &&
      ((part === 'initialized' && cpi === true) || (part === 'addresses' && one.node?.untainted === true)),
  },
  {
    what: 'Shutdown taint',
    cpi: 'added once the Node is not Ready, removed while it is',
    rollcall:
      'follows the VM within a second; if it [was off before](lifecycle.md#the-vm-is-off), also waits for that',
    explains({ part, cpi, rollcall }, { case: { vm = {}, node = {} }, before }) {
      // After several changes the case tells of the taint as Rollcall left it.
      const had = node.shutdownTaint === true || (before?.cpi !== undefined && isShutDown(before.cpi))
      return (
        part === 'taints' &&
        (vm.powerState !== undefined || (had && node.ready !== undefined)) &&
        isDeepStrictEqual(others(cpi), others(rollcall))
      )
    },
  },
  {
    what: 'Not-ready Node of a VM outside `datacenters`',
    cpi: 'deletes the Node',
    rollcall: 'keeps the Node',
    // The CPI looks every five seconds, and nothing tells when it has looked.
    byChance: true,
    explains({ part, cpi }, { scenario, case: one }) {
      const { cases } = scenario
      const named = one.node?.providerID === 'previous' ? (cases[cases.indexOf(one) - 1] ?? one) : one
      return (
        part === 'exists' &&
        cpi === false &&
        one.node?.ready !== undefined &&
        isOutOfScopeOfCPI(scenario, named)
      )
    },
  },
  {
    what: "Not-ready Node with another provider's ID, or one without a valid UUID",
    cpi: 'deletes the Node',
    rollcall: 'keeps the Node',
    because: 'See kubernetes/cloud-provider-vsphere#538.',
    explains: ({ part, cpi }, { case: { node = {} } }) =>
      part === 'exists' &&
      cpi === false &&
      node.ready !== undefined &&
      (node.providerID === 'malformed' || node.providerID === 'foreign'),
  },
  {
    what: 'That taint on a Ready Node that waits, or has no provider ID that names a machine',
    cpi: 'removes it',
    rollcall: 'leaves the Node alone',
    explains: ({ part, cpi, rollcall }, { case: { node = {} } }) =>
      part === 'taints' &&
      node.shutdownTaint === true &&
      node.ready === undefined &&
      (node.untainted !== true ||
        [undefined, 'empty', 'malformed', 'foreign', 'bare'].includes(node.providerID)) &&
      isDeepStrictEqual(others(cpi), others(rollcall)),
  },
  {
    what: 'Not-ready Node whose VM is gone',
    // The same.
    byChance: true,
    cpi: "deletes the Node within five seconds; if it found the VM since its start, only once the VM's reference is gone too",
    rollcall: 'deletes it once [proven](lifecycle.md#the-vm-is-gone)',
    because:
      'A storage outage, a lost privilege and a restored backup look the same (kubernetes/cloud-provider-vsphere#642, #650).',
    explains: ({ part, cpi }, { case: { vm = {}, node = {} }, before }) =>
      part === 'exists' &&
      cpi === false &&
      before !== undefined &&
      vm.gone === true &&
      node.ready !== undefined,
  },
  {
    what: 'Not-ready, initialized Node whose machine was gone before the provider started',
    cpi: 'deletes the Node',
    rollcall:
      'keeps it (`NotBound`), unless [`lifecycle.unbound`](lifecycle.md#which-machines-must-be-gone) is `delete`',
    because: 'A search by UUID misses VMs whose datastore is away.',
    explains: ({ part, cpi }, { case: { vm = {}, node = {} } }) =>
      part === 'exists' && cpi === false && vm.gone === true && node.ready !== undefined,
  },
]

/** All taints but that of a machine that is off. */
function others(taints: unknown): readonly unknown[] {
  const list: readonly { readonly key: string }[] = Array.isArray(taints) ? taints : []
  return list.filter(({ key }) => key !== SHUTDOWN_TAINT.key)
}
