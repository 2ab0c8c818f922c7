import type { Config } from '../config/config.ts'
import type { LeaseName } from '../kubernetes/lease.ts'
import type { InterlockState } from '../types/interlock-state.ts'
import {
  DEFAULT_LEASE,
  handlesNodes,
  type Manager,
  type Managers,
  type NodeControllers,
  nameOf,
  textOf,
} from './find-cpi.ts'

/** What was seen of the cluster's managers and their Leases. */
export interface Sight {
  /** Undefined where they may not be listed. */
  readonly managers: Managers | undefined
  /** Whether somebody leads by this Lease; undefined where it may not be read. */
  readonly leads: (lease: LeaseName) => boolean | undefined
}

/** What this controller is. */
export interface Own {
  readonly lease: LeaseName
  readonly controllers: NodeControllers
}

/** What this controller does to Nodes by its configuration. */
export function ownControllers({
  initialization,
  lifecycle,
}: Pick<Config, 'initialization' | 'lifecycle'>): NodeControllers {
  return { node: initialization.on, lifecycle: lifecycle.deletion !== 'off' || lifecycle.shutdownTaint }
}

export interface InterlockJudgement {
  readonly interlock: InterlockState
  /** What cannot be told, with the next step; it holds nothing up. */
  readonly remarks: readonly string[]
}

/** On a Lease: `false` says that whoever leads by it leaves vSphere's Nodes alone. For a manager that nothing else tells. */
export const ANNOTATION_HANDLES_NODES = 'rollcall.dev/handles-nodes'

/**
 * Whether a vSphere CPI does what this controller would do. What is seen holds; what cannot be seen holds nothing, and is
 * told: docs/adr/0010-one-of-two-writes.md.
 */
export function judgeInterlock(sight: Sight, own: Own): InterlockJudgement {
  const message = held(sight, own)
  if (message !== undefined) return { interlock: { state: 'held', message }, remarks: [] }
  return { interlock: { state: 'open' }, remarks: unseen(sight, own) }
}

/** Why Nodes are left alone, and what ends it; undefined where they are not. */
function held(sight: Sight, own: Own): string | undefined {
  const { managers, leads } = sight
  if (!handlesNodes(own)) return undefined
  const rival = managers?.cpi.find((each) => collides(each, own) && runs(each, sight, own))
  if (rival !== undefined) return leftTo(rival, sight)
  if (isSame(DEFAULT_LEASE, own.lease) || leads(DEFAULT_LEASE) !== true) return undefined
  if (managers === undefined)
    return `somebody leads by the Lease ${textOf(DEFAULT_LEASE)}, as the vSphere CPI does, and who it is cannot be told: DaemonSets and Deployments of kube-system may not be listed; apply rbac.yaml`
  const known = [...managers.cpi, ...managers.others].some(({ lease }) => isSame(lease, DEFAULT_LEASE))
  return known ? undefined : leftToSomebody()
}

/** Whether both do the same, as far as is known. */
function collides({ controllers, upToDate }: Manager, { controllers: ours }: Own): boolean {
  return !upToDate || (controllers.node && ours.node) || (controllers.lifecycle && ours.lifecycle)
}

function runs({ lease, pods }: Manager, { leads }: Sight, own: Own): boolean {
  // Both compete for it, and this controller has it.
  if (isSame(lease, own.lease)) return false
  return (lease === undefined ? undefined : leads(lease)) ?? pods > 0
}

function leftTo(cpi: Manager, { managers, leads }: Sight): string {
  const { lease } = cpi
  const step = handlesNodes(cpi)
    ? 'stop it, or start it with --controllers=service,route'
    : 'some of its Pods have other arguments than it has now: wait until they are replaced, or delete them'
  const other = managers?.others.find((each) => lease !== undefined && isSame(each.lease, lease))
  const shared =
    other === undefined
      ? ''
      : `; ${nameOf(other)} of another cloud uses that Lease too, so give one of the two another --leader-elect-resource-name`
  const until =
    lease === undefined
      ? 'runs without leader election'
      : leads(lease) === undefined
        ? `has the Lease ${textOf(lease)}, which may not be read (name it in the Role rollcall-controller of rbac.yaml)`
        : `leads by the Lease ${textOf(lease)}`
  const then =
    lease === undefined || leads(lease) === undefined
      ? 'within two minutes of the end of its Pods'
      : 'when that Lease has run out'
  return `Nodes are left to the vSphere CPI: ${nameOf(cpi)} ${until}; ${step}${shared}; this controller goes on by itself ${then}`
}

function leftToSomebody(): string {
  const { namespace, name } = DEFAULT_LEASE
  return `Nodes are left to whoever leads by the Lease ${textOf(DEFAULT_LEASE)}, as the vSphere CPI does; no DaemonSet or Deployment of kube-system has it, so look in other namespaces, for a static Pod, or outside the cluster, and stop it: this controller goes on by itself when that Lease has run out; or if it leaves vSphere's Nodes alone: kubectl -n ${namespace} annotate lease ${name} ${ANNOTATION_HANDLES_NODES}=false`
}

function unseen({ managers, leads }: Sight, own: Own): readonly string[] {
  const blind = [
    ...(managers === undefined ? ['DaemonSets and Deployments of kube-system may not be listed'] : []),
    ...(!isSame(DEFAULT_LEASE, own.lease) && leads(DEFAULT_LEASE) === undefined
      ? [`the Lease ${textOf(DEFAULT_LEASE)} may not be read`]
      : []),
  ]
  if (blind.length === 0 || !handlesNodes(own)) return []
  return [
    `whether a vSphere CPI handles Nodes as well cannot be told: ${blind.join(', and ')}; apply rbac.yaml, and make sure that none does`,
  ]
}

/** Whether the leader does not see it: it looks in kube-system alone, and at the Lease that all have by default. */
export function isUnseen({ namespace, lease }: Pick<Manager, 'namespace' | 'lease'>): boolean {
  return namespace !== DEFAULT_LEASE.namespace && !isSame(lease, DEFAULT_LEASE)
}

function isSame(a: LeaseName | undefined, b: LeaseName): boolean {
  return a?.namespace === b.namespace && a.name === b.name
}
