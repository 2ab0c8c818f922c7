import { isInitialized, isShutDown, type NodeObject, type ReportObject, ready } from '../world/objects.ts'
import type { SoakMachine } from './ledger.ts'

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'

/** What is not as it should be with one Node once all is quiet. */
export interface NodeProblem {
  readonly node: string
  readonly problem: string
}

/**
 * Judges what came of all machines after a quiet time: the Node of a VM that is gone must be gone, that of one that runs
 * initialized and untainted, that of one that is off tainted, and no deletion held back.
 */
export function judgeNodes(
  machines: readonly SoakMachine[],
  nodes: readonly NodeObject[],
  reports: readonly ReportObject[],
): readonly NodeProblem[] {
  const held: NodeProblem[] = []
  const byUID = new Map(nodes.map((node) => [node.metadata.uid, node]))
  for (const { metadata } of nodes) {
    const users = machines.filter(({ nodeUID }) => nodeUID === metadata.uid)
    const says = (problem: string): void => void held.push({ node: metadata.name, problem })
    if (users.length === 0) says('the Node belongs to no machine')
    else if (users.every(({ destroyedAt }) => destroyedAt !== undefined)) {
      const report = reports.find((each) => each.metadata.name === metadata.name)
      says(`the Node is there though its VM is gone: ${pendingOf(report)}`)
    }
  }
  for (const machine of machines) {
    if (machine.destroyedAt !== undefined) continue
    const node = machine.nodeUID === undefined ? undefined : byUID.get(machine.nodeUID)
    for (const problem of problemsOf(machine, node)) held.push({ node: machine.node, problem })
  }
  for (const { metadata, status } of reports) {
    if (status?.brakeEngagedAt !== undefined)
      held.push({ node: metadata.name, problem: `the brake holds since ${status.brakeEngagedAt}` })
  }
  return held
}

function problemsOf({ biosUUID, runs }: SoakMachine, node: NodeObject | undefined): string[] {
  if (node === undefined) return ['its VM exists and has no Node']
  const problems: string[] = []
  // One that went off while its address was another's still waits: it is initialized when it runs again.
  if (!isInitialized(node)) {
    if (runs) problems.push('its VM exists, and the Node is not initialized')
  } else if (node.spec.providerID !== `vsphere://${biosUUID}`)
    problems.push(`its provider ID is ${node.spec.providerID}, its VM ${biosUUID}`)
  if (!runs) return isShutDown(node) ? problems : [...problems, 'its VM is off, and the Node is not tainted']
  if (isShutDown(node)) problems.push('its VM runs, and the Node has the shutdown taint')
  if (node.spec.taints?.some(({ key }) => key === OUT_OF_SERVICE))
    problems.push('its VM runs, and the Node is out of service')
  if (ready(node) !== 'True') problems.push(`its VM runs, and Ready is ${ready(node)}`)
  return problems
}

function pendingOf(report: ReportObject | undefined): string {
  if (report === undefined) return 'it has no report'
  const pending = report.status?.conditions?.find(({ type }) => type === 'DeletionPending')
  return pending === undefined
    ? 'it has no condition DeletionPending'
    : `${pending.reason}: ${pending.message}`
}
