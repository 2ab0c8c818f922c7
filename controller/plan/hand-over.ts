import { failed, ok, type Result } from '../../agent/shared/result.ts'
import type { GivenArguments } from '../config/apply-arguments.ts'
import type { Environment } from '../config/apply-environment.ts'
import { SKIP_DELETION } from '../config/settings/environment.ts'
import { DEFAULT_LEASE, handlesNodes, type Manager, type Managers, nameOf, textOf } from '../cpi/find-cpi.ts'
import { ANNOTATION_HANDLES_NODES, isUnseen } from '../cpi/judge-interlock.ts'
import { pairs } from '../cpi-arguments/kinds.ts'
import { type CheckedLabels, checkNodeLabels } from '../cpi-arguments/node-labels.ts'
import type { LeaseRecord } from '../kubernetes/lease.ts'
import { listed } from '../listed.ts'

/** What the cluster has of the CPI. */
export interface CPIFindings extends Managers {
  /** The Lease of the first CPI; undefined where there is none. */
  readonly lease: LeaseRecord | undefined
  /** Services of type LoadBalancer that a cloud provider has to clean up after. */
  readonly loadBalancers: readonly string[]
  /** Nodes to which a cloud provider makes routes. */
  readonly routedNodes: readonly string[]
}

const NOT_FOUND =
  'no vSphere CPI among DaemonSets and Deployments: if it runs as a static Pod or outside the cluster, stop it there'

const NOT_SERVED =
  'runs with --cloud-provider=vsphere-paravirtual, which is not served: the Nodes are VMs of a Supervisor, so keep it, and do not hand over'

/** What the arguments of the CPI that handles Nodes mean for this controller; where none does, those that it has by default. */
export function givenBy({ cpi }: Managers): GivenArguments {
  const found = cpi.find(handlesNodes)
  const labels = found && labelsOf(found)
  return {
    initializes: found?.controllers.node ?? true,
    endsNodes: found?.controllers.lifecycle ?? true,
    nodeLabels: labels?.ok ? labels.value.labels : {},
  }
}

/** What the environment of the CPI that handles Nodes means for a plan. Values of other variables may be secrets, and are not read. */
export function environmentOf({ cpi }: Managers): Environment {
  return cpi.find(handlesNodes)?.skipsDeletion === true ? { [SKIP_DELETION.name]: '' } : {}
}

function labelsOf({ flags: { nodeLabels } }: Manager): Result<CheckedLabels> {
  if (nodeLabels === undefined) return ok({ labels: {}, warnings: [] })
  const parsed = pairs.parse(nodeLabels)
  return parsed.ok ? checkNodeLabels(parsed.value) : failed(`--node-labels: ${parsed.message}`)
}

/** What was found, and then the steps of the hand-over in this cluster, one line each. */
export function handOver(findings: CPIFindings): readonly string[] {
  const supervised = findings.cpi.find(({ flags }) => flags.cloudProvider === 'vsphere-paravirtual')
  if (supervised !== undefined) return [...found(findings), `${nameOf(supervised)} ${NOT_SERVED}`]
  return [
    ...found(findings),
    '',
    'to hand over:',
    ...steps(findings).map((step, index) => `${index + 1}. ${step}`),
  ]
}

function found({ cpi, others, lease, loadBalancers, routedNodes }: CPIFindings): readonly string[] {
  return [
    ...(cpi.length === 0 ? [NOT_FOUND] : []),
    ...cpi.flatMap((each) => [
      handlesNodes(each)
        ? `the vSphere CPI is ${nameOf(each)}`
        : `the vSphere CPI is ${nameOf(each)}, and leaves Nodes alone by its --controllers`,
      each.lease === undefined
        ? `${nameOf(each)} runs without leader election`
        : `${nameOf(each)} has the Lease ${textOf(each.lease)}`,
      ...labelNotes(each),
      ...variableNotes(each),
    ]),
    ...(lease === undefined || lease.holder === ''
      ? []
      : [`its Lease is held by ${lease.holder}, and was last renewed at ${lease.renewTime}`]),
    ...others.map((each) => `${nameOf(each)} is another cloud's, and stays`),
    ...(loadBalancers.length === 0
      ? []
      : [
          `${loadBalancers.length} Services of type LoadBalancer have a cloud provider's finalizer, and would never go without one: ${listed(loadBalancers)}`,
        ]),
    ...(routedNodes.length === 0
      ? []
      : [
          `${routedNodes.length} Nodes have routes that a cloud provider keeps, as their condition NetworkUnavailable says: ${listed(routedNodes)}`,
        ]),
  ]
}

function labelNotes(cpi: Manager): readonly string[] {
  const labels = labelsOf(cpi)
  return labels.ok ? labels.value.warnings : [labels.message]
}

function variableNotes(cpi: Manager): readonly string[] {
  const { skipsDeletion, variables, variableSources } = cpi
  return [
    ...(skipsDeletion ? [`${nameOf(cpi)} has ${SKIP_DELETION.name}, and deletes no Node`] : []),
    ...(variables.length === 0
      ? []
      : [
          `${nameOf(cpi)} has environment variables that count more than its file, and for this plan only where they are set here, too: ${listed(variables)}`,
        ]),
    ...(variableSources.length === 0
      ? []
      : [
          `${nameOf(cpi)} takes environment variables from elsewhere, which this plan does not read: look for those of docs/configuration.md, ${SKIP_DELETION.name} above all, in ${listed(variableSources)}`,
        ]),
  ]
}

function steps({ cpi, loadBalancers, routedNodes }: CPIFindings): readonly string[] {
  const isNeeded = loadBalancers.length + routedNodes.length > 0
  const handling = cpi.filter(handlesNodes)
  const [unseen, seen] = [handling.filter(isUnseen), handling.filter((each) => !isUnseen(each))]
  const isHeld = seen.length > 0 || unseen.length === 0
  return [
    ...handling.flatMap(takeConfig),
    ...unseen.map((each) => `before Rollcall runs, which sees no CPI there: ${stop(each, isNeeded)}`),
    `apply the manifests of Rollcall with this vsphere.conf and "identity: {require: asserted}"${handling.flatMap((each) => [withItsVariables(each), withItsFlags(each)]).join('')}`,
    ...seen.flatMap(mayRead),
    ...(isHeld ? [LOOK] : []),
    ...seen.map((each) => stop(each, isNeeded)),
    ...cpi.filter((each) => isNeeded || !handlesNodes(each)).flatMap(isNeighbour),
    ...(isHeld ? [WAIT] : []),
    'let agents run on the nodes; once "kubectl get nr" shows none as asserted, set "identity: {require: reported}"',
    'to go back: kubectl -n kube-system scale deployment rollcall-controller --replicas=0, then start the CPI; what to remove, and what the CPI writes again, is in docs/hand-over.md',
  ]
}

const LOOK =
  'look: kubectl get nr has how the VM of each Node is known; Nodes are left to the CPI as long as it handles them, and the Pods of Rollcall say so at /readyz'
const WAIT =
  'wait: Rollcall goes on by itself some 20 seconds after the last renewal of the Lease, or within two minutes of the last Pod where there is no leader election; every Node that the CPI had initialised stays as it is, new ones wait with their taint'

/** Outside kube-system nobody looks what it does, and its Lease alone would keep Rollcall from Nodes for ever. */
function isNeighbour(cpi: Manager): readonly string[] {
  const { namespace, name } = DEFAULT_LEASE
  if (cpi.namespace === namespace || isUnseen(cpi)) return []
  return [
    `say that ${nameOf(cpi)} leaves Nodes alone: kubectl -n ${namespace} annotate lease ${name} ${ANNOTATION_HANDLES_NODES}=false`,
  ]
}

/** How to get the file that the CPI reads. */
function takeConfig({ namespace, config, flags: { cloudConfig } }: Manager): readonly string[] {
  if (cloudConfig === undefined) return []
  if (config === undefined) return [`take the file of the CPI, ${cloudConfig} where it runs, as vsphere.conf`]
  const { key } = config
  if (!isName(key) || !isName(config.name)) return []
  const decode = config.kind === 'secret' ? ' | base64decode' : ''
  return [
    `take the file of the CPI: kubectl -n ${namespace} get ${config.kind} ${config.name} -o go-template='{{index .data "${key}"${decode}}}' > vsphere.conf`,
  ]
}

/** Arguments that Rollcall needs as well, and has in the CPI's form of the command line alone. */
function withItsFlags({ controllers: { node, lifecycle }, flags }: Manager): string {
  const given = [
    ...(flags.controllers === undefined || (node && lifecycle) ? [] : [`--controllers=${flags.controllers}`]),
    ...(flags.nodeLabels === undefined ? [] : [`--node-labels=${flags.nodeLabels}`]),
  ]
  if (given.length === 0) return ''
  return `, its controller started in the CPI's form (docs/command-line.md) with --secure-port=0 as long as both run, for the CPI has ${given.join(' ')}`
}

function withItsVariables({ skipsDeletion, variables }: Manager): string {
  const deletion = skipsDeletion ? `, with "lifecycle: {deletion: off}" for ${SKIP_DELETION.name}` : ''
  if (variables.length === 0) return deletion
  return `${deletion}, with the values of ${listed(variables)} in it, or these in the environment of its controller`
}

/** The manifests have the right to read the default Lease alone. */
function mayRead({ lease }: Manager): readonly string[] {
  if (lease === undefined || textOf(lease) === textOf(DEFAULT_LEASE)) return []
  const { namespace, name } = lease
  if (!isName(namespace) || !isName(name)) return []
  const role = 'rollcall-cpi-lease'
  return [
    `let it read the CPI's Lease: kubectl -n ${namespace} create role ${role} --verb=get --resource=leases.coordination.k8s.io --resource-name=${name} && kubectl -n ${namespace} create rolebinding ${role} --role=${role} --serviceaccount=kube-system:rollcall-controller`,
  ]
}

/** Whether it may stand in a command: anybody who may run a Pod chooses the arguments that are read here. */
function isName(text: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/.test(text)
}

function stop(cpi: Manager, isNeeded: boolean): string {
  return isNeeded
    ? `start ${nameOf(cpi)} with --controllers=service,route, so that it goes on with those and nothing else`
    : `kubectl -n ${cpi.namespace} delete ${cpi.kind.toLowerCase()} ${cpi.name} --cascade=foreground, with what would create it again`
}
