/** The Node of a case, as its kubelet registered it. */
import type { VcsimVM } from '../servers/control.ts'
import { nodeObject } from '../world/kubelet.ts'
import { productUUID } from '../world/machine.ts'
import type { KubeletNode } from './scenario.ts'

export const SHUTDOWN_TAINT = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }

export const OTHER_TAINT = { key: 'example.com/dedicated', effect: 'NoSchedule' }

/** @param previous the machine of the case before */
export function kubeletNode(name: string, vm: VcsimVM, node: KubeletNode, previous: VcsimVM | undefined) {
  const { systemUUID = 'swapped', untainted = false, otherTaint = false, shutdownTaint = false } = node
  const { nodeIP, labels, ready = 'True' } = node
  const object = nodeObject({
    name,
    biosUUID: vm.uuid,
    ...(nodeIP === undefined ? {} : { nodeIP }),
    ...(labels === undefined ? {} : { labels: { ...labels } }),
    ...(node.providerID === undefined ? {} : { providerID: providerIDOf(node.providerID, vm, previous) }),
  })
  if (untainted) object.spec.taints = []
  if (otherTaint) object.spec.taints.push(OTHER_TAINT)
  if (shutdownTaint) object.spec.taints.push(SHUTDOWN_TAINT)
  object.status.conditions = object.status.conditions.map((condition) => ({ ...condition, status: ready }))
  // The kubelet writes none for a choice that leaves the address to it.
  if (nodeIP === '::' || nodeIP === '0.0.0.0') object.status.addresses = [{ type: 'Hostname', address: name }]
  object.status.nodeInfo.systemUUID = {
    swapped: productUUID(vm.uuid),
    plain: vm.uuid,
    upper: vm.uuid.toUpperCase(),
    unknown: '00000000-1111-4222-8333-444444444444',
    malformed: `VMware-${vm.uuid.slice(0, 13)}`,
    empty: '',
  }[systemUUID]
  return object
}

/** @param previous the machine of the case before */
export function providerIDOf(
  spelling: NonNullable<KubeletNode['providerID']>,
  vm: VcsimVM,
  previous: VcsimVM | undefined,
): string {
  return {
    plain: `vsphere://${vm.uuid}`,
    upper: `vsphere://${vm.uuid.toUpperCase()}`,
    swapped: `vsphere://${productUUID(vm.uuid)}`,
    previous: `vsphere://${previous?.uuid ?? ''}`,
    foreign: 'aws:///eu-west-1a/i-0123456789abcdef0',
    empty: 'vsphere://',
    malformed: `vsphere://VMware-${vm.uuid}`,
    bare: vm.uuid,
  }[spelling]
}
