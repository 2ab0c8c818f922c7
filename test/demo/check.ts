import type { ExpectedNode } from './scene.ts'
import { type ObservedNode, type ObservedReport, UNINITIALIZED } from './view.ts'

/**
 * Compares a Node and its report with what the simulator says of the VM.
 *
 * @returns one sentence for each difference; none when all is as it should be
 */
export function checkNode(
  planned: ExpectedNode,
  node: ObservedNode | undefined,
  report: ObservedReport | undefined,
): string[] {
  if (!node) return ['the Node is not there']
  const problems: string[] = []
  const expect = (what: string, wanted: string, got: string | undefined) => {
    if (got !== wanted) problems.push(`${what} is ${got ?? 'missing'}, expected ${wanted}`)
  }
  if (node.spec.taints?.some(({ key }) => key === UNINITIALIZED)) {
    problems.push(`still has the taint ${UNINITIALIZED}${whyNot(report)}`)
  }
  expect('provider ID', `vsphere://${planned.vm.uuid}`, node.spec.providerID)
  for (const [label, value] of Object.entries(expectedLabels(planned))) {
    expect(`label ${label}`, value, node.metadata.labels?.[label])
  }
  const addresses = node.status.addresses?.map(({ type, address }) => `${type} ${address}`).join(', ')
  expect('list of addresses', expectedAddresses(planned), addresses)
  if (!report) return [...problems, 'there is no NodeReport']
  const { vm, identityLevel, conditions } = report.status ?? {}
  if (identityLevel !== 'proven') {
    const words = conditions?.find(({ type }) => type === 'IdentityVerified')?.message
    problems.push(
      `identity level is ${identityLevel ?? 'missing'}, expected proven${words ? ` (${words})` : ''}`,
    )
  }
  expect('bound VM', planned.vm.ref, vm?.moref)
  expect('VM name', planned.vm.name, vm?.name)
  expect('host', planned.vm.host, vm?.host)
  return problems
}

/** Each label and the beta name under which older workloads look for it. */
function expectedLabels({ zone, region, instanceType }: ExpectedNode): Record<string, string> {
  return {
    'topology.kubernetes.io/zone': zone,
    'failure-domain.beta.kubernetes.io/zone': zone,
    'topology.kubernetes.io/region': region,
    'failure-domain.beta.kubernetes.io/region': region,
    'node.kubernetes.io/instance-type': instanceType,
    'beta.kubernetes.io/instance-type': instanceType,
  }
}

function expectedAddresses({ name, address }: ExpectedNode): string {
  return `Hostname ${name}, InternalIP ${address}, ExternalIP ${address}`
}

function whyNot(report: ObservedReport | undefined): string {
  const untrue = (report?.status?.conditions ?? []).filter(({ status }) => status !== 'True')
  return untrue.length === 0
    ? ''
    : ` (${untrue.map(({ type, reason, message }) => `${type}: ${reason}, ${message}`).join('; ')})`
}
