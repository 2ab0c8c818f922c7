import type { LeaseRecord } from '../kubernetes/lease.ts'
import type { Manager, Managers } from './find-cpi.ts'

/** What the cluster has of the CPI. */
export interface CPIFindings extends Managers {
  /** The Lease of the first CPI; undefined where there is none. */
  readonly lease: LeaseRecord | undefined
  /** Services of type LoadBalancer that a cloud provider has to clean up after. */
  readonly loadBalancers: readonly string[]
}

const NOT_FOUND =
  'no vSphere CPI among DaemonSets and Deployments: if it runs as a static Pod or outside the cluster, stop it there'

/** Most Services that are named. */
const MAX_NAMES = 5

/** What was found, and then the steps of the hand-over in this cluster, one line each. */
export function handOver(findings: CPIFindings): readonly string[] {
  return [
    ...found(findings),
    '',
    'to hand over:',
    ...steps(findings).map((step, index) => `${index + 1}. ${step}`),
  ]
}

function found({ cpi, others, lease, loadBalancers }: CPIFindings): readonly string[] {
  const named = loadBalancers.slice(0, MAX_NAMES).join(', ')
  return [
    ...(cpi.length === 0 ? [NOT_FOUND] : []),
    ...cpi.map((each) =>
      each.handlesNodes
        ? `the vSphere CPI is ${text(each)}`
        : `the vSphere CPI is ${text(each)}, and leaves Nodes alone by its --controllers`,
    ),
    ...cpi
      .filter((each) => each.lease === undefined)
      .map((each) => `${text(each)} runs without leader election`),
    ...(lease === undefined || lease.holder === ''
      ? []
      : [`its Lease is held by ${lease.holder}, and was last renewed at ${lease.renewTime}`]),
    ...others.map((each) => `${text(each)} is another cloud's, and stays`),
    ...(loadBalancers.length === 0
      ? []
      : [
          `${loadBalancers.length} Services of type LoadBalancer have a cloud provider's finalizer, and would never go without one: ${named}${loadBalancers.length > MAX_NAMES ? ', ...' : ''}`,
        ]),
  ]
}

function steps({ cpi, loadBalancers }: CPIFindings): readonly string[] {
  return [
    'apply the manifests of Rollcall with this vsphere.conf and "identity: {require: asserted}", and 0 replicas of its controller',
    ...cpi.filter(({ handlesNodes }) => handlesNodes).map((each) => stop(each, loadBalancers.length > 0)),
    'wait until none of its Pods that initialise Nodes is left; no Node changes meanwhile, new ones wait with their taint',
    'start the controller of Rollcall, and look: kubectl get nr; every Node that the CPI had initialised stays as it is',
    'let agents run on the nodes; once "kubectl get nr" shows none as asserted, set "identity: {require: reported}"',
    'to go back: stop the controller of Rollcall and start the CPI; what to remove is in docs/hand-over.md',
  ]
}

function stop(cpi: Manager, balances: boolean): string {
  return balances
    ? `start ${text(cpi)} with --controllers=service,route, so that it serves those Services and nothing else`
    : `kubectl -n ${cpi.namespace} delete ${cpi.kind.toLowerCase()} ${cpi.name} --cascade=foreground, with what would create it again`
}

function text({ kind, namespace, name }: Pick<Manager, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace}/${name}`
}
