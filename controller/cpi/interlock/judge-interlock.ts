import type { LeaseName } from '../../kubernetes/lease.ts'
import type { InterlockState } from '../../types/cluster-state.ts'
import { DEFAULT_LEASE, handlesNodes, type Manager, type Managers, nameOf, textOf } from './find-cpi.ts'

/** What was seen of the cluster's managers and their Leases. */
export interface Sight {
  /** Undefined where they may not be listed. */
  readonly managers: Managers | undefined
  /** Whether this Lease is held; undefined where it may not be read. */
  readonly leads: (lease: LeaseName) => boolean | undefined
}

/** What this controller is. */
export interface Own {
  readonly lease: LeaseName
  readonly controllers: Manager['controllers']
}

/** On a Lease: `false` says that its holder leaves vSphere's Nodes alone. For a manager that cannot be recognized otherwise. */
export const ANNOTATION_HANDLES_NODES = 'rollcall.dev/handles-nodes'

/**
 * Whether a vSphere CPI does what this controller would do. Only a CPI that is seen holds this controller back; what cannot
 * be seen becomes a remark with the next step, and holds nothing up: docs/adr/0010-one-of-two-writes.md.
 */
export function judgeInterlock(
  sight: Sight,
  own: Own,
): { readonly interlock: InterlockState; readonly remarks: readonly string[] } {
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
    return `the Lease ${textOf(DEFAULT_LEASE)}, which the vSphere CPI uses, is held by an unknown holder: this controller is not allowed to list DaemonSets and Deployments of kube-system; apply rbac.yaml`
  const known = [...managers.cpi, ...managers.others].some(({ lease }) => isSame(lease, DEFAULT_LEASE))
  return known ? undefined : leftToSomebody()
}

/** Whether both would handle the same Nodes in the same way, as far as is known. */
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
    : 'some of its Pods still run with its former arguments: wait until they are replaced, or delete them'
  const other = managers?.others.find((each) => lease !== undefined && isSame(each.lease, lease))
  const shared =
    other === undefined
      ? ''
      : `; ${nameOf(other)} of another cloud uses that Lease too, so give one of the two another --leader-elect-resource-name`
  const until =
    lease === undefined
      ? 'runs without leader election'
      : leads(lease) === undefined
        ? `uses the Lease ${textOf(lease)}, which this controller is not allowed to read (add its name to the Role rollcall-controller in rbac.yaml)`
        : `holds the Lease ${textOf(lease)}`
  const then =
    lease === undefined || leads(lease) === undefined
      ? 'within two minutes after its last Pod is gone'
      : 'when that Lease expires'
  return `Nodes are left to the vSphere CPI: ${nameOf(cpi)} ${until}; ${step}${shared}; this controller takes over by itself ${then}`
}

function leftToSomebody(): string {
  const { namespace, name } = DEFAULT_LEASE
  return `Nodes are left to the unknown holder of the Lease ${textOf(DEFAULT_LEASE)}, which the vSphere CPI uses; no DaemonSet or Deployment of kube-system uses it, so look in other namespaces, for a static Pod, or outside the cluster, and stop it: this controller takes over by itself when that Lease expires; or if the holder leaves vSphere's Nodes alone, say so: kubectl -n ${namespace} annotate lease ${name} ${ANNOTATION_HANDLES_NODES}=false`
}

function unseen({ managers, leads }: Sight, own: Own): readonly string[] {
  const blind = [
    ...(managers === undefined ? ['list DaemonSets and Deployments of kube-system'] : []),
    ...(!isSame(DEFAULT_LEASE, own.lease) && leads(DEFAULT_LEASE) === undefined
      ? [`read the Lease ${textOf(DEFAULT_LEASE)}`]
      : []),
  ]
  if (blind.length === 0 || !handlesNodes(own)) return []
  return [
    `this controller cannot tell whether a vSphere CPI handles Nodes as well, because it is not allowed to ${blind.join(' or to ')}; apply rbac.yaml, and make sure that none does`,
  ]
}

/** Whether the leader does not see it: it looks only in kube-system, and at the Lease that all have by default. */
export function isUnseen({ namespace, lease }: Pick<Manager, 'namespace' | 'lease'>): boolean {
  return namespace !== DEFAULT_LEASE.namespace && !isSame(lease, DEFAULT_LEASE)
}

function isSame(a: LeaseName | undefined, b: LeaseName): boolean {
  return a?.namespace === b.namespace && a.name === b.name
}
