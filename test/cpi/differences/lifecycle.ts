/** Where Rollcall means to differ in what becomes of a Node whose machine is off or gone. */
import { isDeepStrictEqual } from 'node:util'
import { SHUTDOWN_TAINT } from '../kubelet-node.ts'
import { isOutOfScope } from '../places.ts'
import type { NodeRow } from './row.ts'

export const IN_LIFECYCLE: readonly NodeRow[] = [
  {
    what: 'A Node whose VM is off or suspended',
    cpi: 'initializes it',
    rollcall: 'waits until it runs; an initialized one keeps its addresses',
    because: 'A kubelet does not register from a machine that is off.',
    explains: ({ part, cpi }, { case: one }) =>
      one.vm?.powerState !== undefined &&
      ((part === 'initialized' && cpi === true) || (part === 'addresses' && one.node?.untainted === true)),
  },
  {
    what: 'The shutdown taint',
    cpi: 'is added once the Node is not Ready, and removed while it is Ready',
    rollcall:
      'follows the VM within a second; if the VM [was off before](lifecycle.md#the-vm-is-off), also waits for that',
    because: 'While a Node is Ready, Pods are sent to a machine that is off.',
    explains: ({ part, cpi, rollcall }, { case: { vm = {}, node = {} } }) =>
      part === 'taints' &&
      (vm.powerState !== undefined || (node.shutdownTaint === true && node.ready !== undefined)) &&
      isDeepStrictEqual(others(cpi), others(rollcall)),
  },
  {
    what: 'A Node that is not Ready, and whose VM is outside `datacenters`',
    cpi: 'deletes the Node',
    rollcall: 'keeps the Node',
    because: 'A setting must not delete the Nodes of machines that run.',
    // The CPI looks every five seconds, and nothing tells when it has looked.
    byChance: true,
    explains({ part, cpi }, { scenario, case: one }) {
      const { cases } = scenario
      const named = one.node?.providerID === 'previous' ? (cases[cases.indexOf(one) - 1] ?? one) : one
      return (
        part === 'exists' && cpi === false && one.node?.ready !== undefined && isOutOfScope(scenario, named)
      )
    },
  },
  {
    what: "A Node that is not Ready, with another provider's provider ID, or with one without a valid UUID",
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
    what: 'The shutdown taint on an initialized Node whose provider ID is missing or names no machine, and which is Ready',
    cpi: 'removes it',
    rollcall: 'leaves the Node alone',
    explains: ({ part }, { case: { node = {} } }) =>
      part === 'taints' &&
      node.shutdownTaint === true &&
      ![undefined, 'empty', 'malformed', 'foreign', 'bare'].every((each) => each !== node.providerID),
  },
  {
    what: 'The machine of an initialized Node was gone before the provider first saw it, and the Node is not Ready',
    cpi: 'deletes the Node',
    rollcall:
      'keeps the Node, and says `NotBound`, unless [`lifecycle.unbound`](lifecycle.md#which-machines-must-be-gone) is `delete`',
    because: 'A search by UUID finds no VM whose datastore is away, either.',
    explains: ({ part, cpi }, { case: { vm = {}, node = {} } }) =>
      part === 'exists' && cpi === false && vm.gone === true && node.ready !== undefined,
  },
]

/** All taints but that of a machine that is off. */
function others(taints: unknown): readonly unknown[] {
  const list: readonly { readonly key: string }[] = Array.isArray(taints) ? taints : []
  return list.filter(({ key }) => key !== SHUTDOWN_TAINT.key)
}
