/** The rights that the manifests give, to check that they are there. */
import type { VCenterCredentials } from '../../config/config.ts'
import { DEFAULT_LEASE } from '../../cpi/interlock/find-cpi.ts'

/** One verb on one resource. */
export interface Right {
  readonly verb: string
  /** As kubectl names it: `nodereports.rollcall.dev/status`. */
  readonly on: string
  /** Of the one object that it is limited to. */
  readonly name?: string
  /** The whole cluster where there is none. */
  readonly namespace?: string
}

type Row = Omit<Right, 'verb'> & { readonly verbs: readonly string[] }

/** The namespace of both accounts. */
export const NAMESPACE = 'kube-system'
export const CONTROLLER_ACCOUNT = 'rollcall-controller'
export const AGENT_ACCOUNT = 'rollcall-agent'

const LEASES = 'leases.coordination.k8s.io'

/** What `rbac.yaml` gives the controller, for the Lease that it competes for. */
export function controllerRights(lease: {
  readonly namespace: string
  readonly name: string
}): readonly Right[] {
  return flat([
    { verbs: ['list', 'watch', 'patch', 'delete'], on: 'nodes' },
    { verbs: ['patch'], on: 'nodes/status' },
    { verbs: ['list', 'watch', 'create'], on: 'nodereports.rollcall.dev' },
    { verbs: ['patch'], on: 'nodereports.rollcall.dev/status' },
    { verbs: ['list'], on: 'volumeattachments.storage.k8s.io' },
    { verbs: ['list', 'watch'], on: 'csinodes.storage.k8s.io' },
    { verbs: ['create', 'patch'], on: 'events', namespace: 'default' },
    { verbs: ['create'], on: LEASES, namespace: lease.namespace },
    { verbs: ['get', 'update'], on: LEASES, ...lease },
    { verbs: ['get'], on: LEASES, ...DEFAULT_LEASE },
    { verbs: ['list'], on: 'daemonsets.apps', namespace: DEFAULT_LEASE.namespace },
    { verbs: ['list'], on: 'deployments.apps', namespace: DEFAULT_LEASE.namespace },
    { verbs: ['get'], on: LEASES, namespace: 'kube-node-lease' },
    { verbs: ['impersonate'], on: 'serviceaccounts', namespace: NAMESPACE, name: AGENT_ACCOUNT },
  ])
}

/** What `rbac.yaml` gives the agents. */
export const AGENT_RIGHTS = flat([{ verbs: ['create', 'patch'], on: 'nodereports.rollcall.dev' }])

/** What `credentials.example.yaml` gives for the Secrets that `vsphere.conf` names. */
export function secretRights(sources: readonly VCenterCredentials[]): readonly Right[] {
  return flat(
    sources.flatMap((source) =>
      source.kind === 'secret'
        ? [{ verbs: ['list', 'watch'], on: 'secrets', namespace: source.namespace, name: source.name }]
        : [],
    ),
  )
}

function flat(rows: readonly Row[]): readonly Right[] {
  return rows.flatMap(({ verbs, ...row }) => verbs.map((verb) => ({ verb, ...row })))
}

/** As `patch nodes/status in the cluster`. */
export function describeRight({ verb, on, name, namespace }: Right): string {
  const where = namespace === undefined ? 'in the cluster' : `in ${namespace}`
  return `${verb} ${on}${name === undefined ? '' : ` ${name}`} ${where}`
}
