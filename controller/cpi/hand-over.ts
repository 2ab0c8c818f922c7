import { failed, ok } from '../../agent/shared/result.ts'
import type { Environment, GivenArguments } from '../config/overrides.ts'
import { SKIP_DELETION } from '../config/settings/environment.ts'
import type { LeaseRecord } from '../kubernetes/lease.ts'
import { counted, listed } from '../lib/listed.ts'
import { checkNodeLabels } from './arguments/node-flags.ts'
import { pairs } from './arguments/row.ts'
import {
  DEFAULT_LEASE,
  handlesNodes,
  type Manager,
  type Managers,
  nameOf,
  textOf,
} from './interlock/find-cpi.ts'
import { ANNOTATION_HANDLES_NODES, isUnseen } from './interlock/judge-interlock.ts'

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
  'runs with --cloud-provider=vsphere-paravirtual, which Rollcall does not support: the Nodes are VMs of a Supervisor, so keep it and do not hand over'

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

function labelsOf({ flags: { nodeLabels } }: Manager): ReturnType<typeof checkNodeLabels> {
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
        : `the vSphere CPI is ${nameOf(each)}, which leaves Nodes alone because of its --controllers`,
      each.lease === undefined
        ? `${nameOf(each)} runs without leader election`
        : `${nameOf(each)} has the Lease ${textOf(each.lease)}`,
      ...labelNotes(each),
      ...variableNotes(each),
    ]),
    ...(lease === undefined || lease.holder === ''
      ? []
      : [`its Lease is held by ${lease.holder}, and was last renewed at ${lease.renewTime}`]),
    ...others.map((each) => `${nameOf(each)} belongs to another cloud; leave it as it is`),
    ...(loadBalancers.length === 0
      ? []
      : [
          `Services of type LoadBalancer with a cloud provider's finalizer, which cannot be deleted without a cloud provider: ${counted(loadBalancers)}`,
        ]),
    ...(routedNodes.length === 0
      ? []
      : [
          `Nodes with routes that a cloud provider maintains, according to their condition NetworkUnavailable: ${counted(routedNodes)}`,
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
    ...(skipsDeletion ? [`${nameOf(cpi)} has ${SKIP_DELETION.name}, so it deletes no Nodes`] : []),
    ...(variables.length === 0
      ? []
      : [
          `${nameOf(cpi)} has environment variables that override its file; this plan uses them only if they are set here as well: ${listed(variables)}`,
        ]),
    ...(variableSources.length === 0
      ? []
      : [
          `${nameOf(cpi)} gets environment variables from ${listed(variableSources)}, which this plan does not read: look there for those that docs/configuration.md lists, above all ${SKIP_DELETION.name}`,
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
    ...unseen.map(
      (each) => `before you start Rollcall, which does not see this CPI: ${stop(each, isNeeded)}`,
    ),
    `apply Rollcall's manifests with this vsphere.conf and "identity: {require: asserted}" in it${handling.flatMap((each) => [withItsVariables(each), withItsFlags(each)]).join('')}`,
    ...seen.flatMap(mayRead),
    ...(isHeld ? [LOOK] : []),
    ...seen.map((each) => stop(each, isNeeded)),
    ...cpi.filter((each) => isNeeded || !handlesNodes(each)).flatMap(isNeighbor),
    ...(isHeld ? [WAIT] : []),
    'run agents on the nodes; once "kubectl get nr" shows no Node as asserted, set "identity: {require: reported}"',
    'to go back: kubectl -n kube-system scale deployment rollcall-controller --replicas=0, then start the CPI; docs/hand-over.md says what to remove, and what the CPI writes again',
  ]
}

const LOOK =
  'check: kubectl get nr shows how the VM of each Node is known; Rollcall leaves Nodes to the CPI while it handles them, and its Pods say so at /readyz'
const WAIT =
  'wait: Rollcall takes over by itself about 20 seconds after the Lease was last renewed, or, without leader election, within two minutes after the last Pod is gone; Nodes that the CPI has initialized stay as they are, and new ones keep their taint until then'

/** Rollcall does not see what a CPI outside kube-system does: because of its Lease alone it would leave Nodes to it for ever. */
function isNeighbor(cpi: Manager): readonly string[] {
  const { namespace, name } = DEFAULT_LEASE
  if (cpi.namespace === namespace || isUnseen(cpi)) return []
  return [
    `tell Rollcall that ${nameOf(cpi)} leaves Nodes alone: kubectl -n ${namespace} annotate lease ${name} ${ANNOTATION_HANDLES_NODES}=false`,
  ]
}

/** How to get the file that the CPI reads. */
function takeConfig({ namespace, config, flags: { cloudConfig } }: Manager): readonly string[] {
  if (cloudConfig === undefined) return []
  if (config === undefined || !isName(config.key) || !isName(config.name))
    return [`copy the CPI's file, ${cloudConfig} where it runs, as vsphere.conf`]
  const { key } = config
  const decode = config.kind === 'secret' ? ' | base64decode' : ''
  return [
    `get the CPI's file: kubectl -n ${namespace} get ${config.kind} ${config.name} -o go-template='{{index .data "${key}"${decode}}}' > vsphere.conf`,
  ]
}

/** Arguments that Rollcall needs as well, and takes only in the CPI's form of the command line. */
function withItsFlags({ controllers: { node, lifecycle }, flags }: Manager): string {
  const given = [
    ...(flags.controllers === undefined || (node && lifecycle) ? [] : [`--controllers=${flags.controllers}`]),
    ...(flags.nodeLabels === undefined ? [] : [`--node-labels=${flags.nodeLabels}`]),
  ]
  if (given.length === 0) return ''
  return `; start the controller in the CPI's form (docs/command-line.md), with --secure-port=0 while both run, because the CPI has ${given.join(' ')}`
}

function withItsVariables({ skipsDeletion, variables }: Manager): string {
  const deletion = skipsDeletion
    ? `; also "lifecycle: {deletion: off}", because the CPI has ${SKIP_DELETION.name}`
    : ''
  if (variables.length === 0) return deletion
  return `${deletion}; put the values of ${listed(variables)} in it as well, or set these variables for the controller`
}

/** The manifests give the right to read the default Lease only. */
function mayRead({ lease }: Manager): readonly string[] {
  if (lease === undefined || textOf(lease) === textOf(DEFAULT_LEASE)) return []
  const { namespace, name } = lease
  if (!isName(namespace) || !isName(name)) return []
  const role = 'rollcall-cpi-lease'
  return [
    `let Rollcall read the CPI's Lease: kubectl -n ${namespace} create role ${role} --verb=get --resource=leases.coordination.k8s.io --resource-name=${name} && kubectl -n ${namespace} create rolebinding ${role} --role=${role} --serviceaccount=kube-system:rollcall-controller`,
  ]
}

/** Whether it may be part of a command: anybody who may run a Pod chooses the arguments that are read here. */
function isName(text: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/.test(text)
}

function stop(cpi: Manager, isNeeded: boolean): string {
  return isNeeded
    ? `start ${nameOf(cpi)} with --controllers=service,route, so that it keeps serving those and does nothing else`
    : `kubectl -n ${cpi.namespace} delete ${cpi.kind.toLowerCase()} ${cpi.name} --cascade=foreground, along with anything that would create it again`
}
