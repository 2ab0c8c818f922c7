/** What the cluster has of the CPI, and what a plan takes from it. */
import { failed, ok, type Result } from '../../agent/shared/result.ts'
import type { Environment, GivenArguments } from '../config/overrides.ts'
import { hasEffect, SKIP_DELETION } from '../config/settings/environment.ts'
import type { LeaseRecord } from '../kubernetes/lease.ts'
import { counted, listed } from '../lib/format.ts'
import { pairs } from './arguments/flags.ts'
import { checkNodeLabels } from './arguments/node-flags.ts'
import { sourceText } from './interlock/container-environment.ts'
import {
  DEFAULT_LEASE,
  handlesNodes,
  type Manager,
  type Managers,
  nameOf,
  textOf,
} from './interlock/find-cpi.ts'
import type { NSXWarning } from './nsx.ts'

/** What the cluster has of the CPI. */
export interface CPIFindings extends Managers {
  /** The Lease of the first CPI; undefined where there is none. */
  readonly lease: LeaseRecord | undefined
  /** Services of type LoadBalancer that a cloud provider has to clean up after. */
  readonly loadBalancers: readonly string[]
  /** Nodes to which a cloud provider makes routes. */
  readonly routedNodes: readonly string[]
  /** What the CPI meets in NSX while it serves Services and routes; or why that is not known. */
  readonly nsx: Result<readonly NSXWarning[]>
}

const NOT_FOUND =
  'no vSphere CPI among DaemonSets and Deployments: if it runs as a static Pod or outside the cluster, stop it there'

/**
 * The CPI by whose own file a plan is made. Outside kube-system anybody who may run a Pod may seem to be a CPI, and would choose
 * the vCenters of the plan: among several namespaces nothing is chosen.
 */
export function configuredCPI({ cpi }: Managers): Result<Manager> {
  const handling = cpi.filter(handlesNodes)
  const [first] = handling
  const instead = 'name its vsphere.conf with --config'
  if (first === undefined)
    return failed(
      `no vSphere CPI that handles Nodes among DaemonSets and Deployments to read a configuration from; ${instead}`,
    )
  const isOne = handling.every(({ namespace }) => namespace === first.namespace)
  if (first.namespace === DEFAULT_LEASE.namespace || isOne) return ok(first)
  return failed(`which of these is the CPI? ${counted(handling.map(nameOf))}; ${instead}`)
}

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

/**
 * What the environment of the CPI that handles Nodes means for a plan, as far as its values are known. They may be secrets.
 *
 * @param ownFile whether the plan is made by the CPI's own file. To another file nothing is added that could send the password in
 *   it elsewhere: anybody who may run a Pod may seem to be a CPI
 */
export function environmentOf({ cpi }: Managers, ownFile: boolean): Environment {
  const found = cpi.find(handlesNodes)
  const values = (ownFile ? overriding(found) : []).flatMap(([name, value]) => {
    const text = value?.reveal() ?? ''
    return text === '' ? [] : [[name, text] as const]
  })
  return {
    ...Object.fromEntries(values),
    ...(found?.skipsDeletion === true ? { [SKIP_DELETION.name]: '' } : {}),
  }
}

/** The variables that count more than the file, but for the one that has no value. */
export function overriding(cpi: Manager | undefined) {
  return [...(cpi?.variables ?? [])].filter(([name]) => hasEffect(name) && name !== SKIP_DELETION.name)
}

function labelsOf({ flags: { nodeLabels } }: Manager): ReturnType<typeof checkNodeLabels> {
  if (nodeLabels === undefined) return ok({ labels: {}, warnings: [] })
  const parsed = pairs.parse(nodeLabels)
  return parsed.ok ? checkNodeLabels(parsed.value) : failed(`--node-labels: ${parsed.message}`)
}

/**
 * What was found, one line each.
 *
 * @param ownFile whether the plan is made by the CPI's own file
 */
export function describeFindings(findings: CPIFindings, ownFile: boolean): readonly string[] {
  const { cpi, others, lease, loadBalancers, routedNodes, nsx } = findings
  const planned = ownFile ? cpi.find(handlesNodes) : undefined
  const file = planned?.flags.cloudConfig
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
      ...(each === planned && file !== undefined ? [`this plan is made by its file, ${file}`] : []),
      ...variableNotes(each, each === planned),
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
    ...(nsx.ok
      ? nsx.value.map(({ message }) => `while the CPI serves NSX: ${message}`)
      : [`what the CPI meets in NSX is not known: ${nsx.message}`]),
  ]
}

function labelNotes(cpi: Manager): readonly string[] {
  const labels = labelsOf(cpi)
  return labels.ok ? labels.value.warnings : [labels.message]
}

function variableNotes(cpi: Manager, used: boolean): readonly string[] {
  const variables = overriding(cpi)
  const names = (which: (value: unknown) => boolean) =>
    variables.flatMap(([name, value]) => (which(value) ? [name] : []))
  const known = names((value) => used && value !== undefined)
  const unknown = names((value) => !used || value === undefined)
  const sources = cpi.variableSources.filter(({ whole }) => whole).map(sourceText)
  return [
    ...(cpi.skipsDeletion ? [`${nameOf(cpi)} has ${SKIP_DELETION.name}, so it deletes no Nodes`] : []),
    ...(known.length === 0
      ? []
      : [
          `${nameOf(cpi)} has environment variables that override its file, and this plan uses them: ${listed(known)}`,
        ]),
    ...(unknown.length === 0
      ? []
      : [
          `${nameOf(cpi)} has environment variables that override its file; this plan uses them only if they are set here as well: ${listed(unknown)}`,
        ]),
    ...(sources.length === 0
      ? []
      : [
          `${nameOf(cpi)} gets environment variables from ${listed(sources)}, which could not be read: look there for those that docs/configuration.md lists, above all ${SKIP_DELETION.name}`,
        ]),
  ]
}
