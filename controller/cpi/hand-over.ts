import type { Config } from '../config/config.ts'
import { SKIP_DELETION } from '../config/settings/environment.ts'
import { listed } from '../lib/format.ts'
import { type CPIFindings, describeFindings, overriding } from './cpi-in-cluster.ts'
import { DEFAULT_LEASE, handlesNodes, type Manager, nameOf, textOf } from './interlock/find-cpi.ts'
import { ANNOTATION_HANDLES_NODES, isUnseen } from './interlock/judge-interlock.ts'

const NOT_SERVED =
  'runs with --cloud-provider=vsphere-paravirtual, which Rollcall does not support: the Nodes are VMs of a Supervisor, so keep it and do not hand over'

/** What was found, and then the steps of the hand-over in this cluster, one line each. */
export function handOver(
  findings: CPIFindings,
  {
    config,
    ownFile,
  }: {
    readonly config: Pick<Config, 'credentials' | 'vCenters'>
    readonly ownFile: boolean
  } = { config: { credentials: {}, vCenters: [] }, ownFile: false },
): readonly string[] {
  const supervised = findings.cpi.find(({ flags }) => flags.cloudProvider === 'vsphere-paravirtual')
  if (supervised !== undefined)
    return [...describeFindings(findings, ownFile), `${nameOf(supervised)} ${NOT_SERVED}`]
  return [
    ...describeFindings(findings, ownFile),
    '',
    'to hand over:',
    ...steps(findings, config).map((step, index) => `${index + 1}. ${step}`),
  ]
}

/** The Secrets with vCenter's user and password, each once. */
function secretsOf({ credentials }: Pick<Config, 'credentials'>): readonly ObjectName[] {
  const secrets = Object.values(credentials).flatMap((each) =>
    each.kind === 'secret' && isName(each.namespace) && isName(each.name) ? [each] : [],
  )
  return [...new Map(secrets.map((each) => [`${each.namespace}/${each.name}`, each])).values()]
}

interface ObjectName {
  readonly namespace: string
  readonly name: string
}

function steps(
  { cpi, loadBalancers, routedNodes }: CPIFindings,
  config: Pick<Config, 'credentials' | 'vCenters'>,
): readonly string[] {
  const secrets = secretsOf(config)
  const isNeeded = loadBalancers.length + routedNodes.length > 0
  const handling = cpi.filter(handlesNodes)
  const [unseen, seen] = [handling.filter(isUnseen), handling.filter((each) => !isUnseen(each))]
  const isHeld = seen.length > 0 || unseen.length === 0
  const copied = isNeeded ? [] : secrets.filter((each) => handling.some((one) => goesWith(one, each)))
  const read = secrets.map((each) => (copied.includes(each) ? { ...each, name: copyOf(each) } : each))
  return [
    ...handling.flatMap(takeConfig),
    ...handling.flatMap(keepValues),
    ...copied.map(copy),
    ...unseen.map(
      (each) => `before you start Rollcall, which does not see this CPI: ${stop(each, isNeeded)}`,
    ),
    `apply Rollcall's manifests with this vsphere.conf and "identity: {require: asserted}" in it${[
      ...copied.map((each) => `; also "secretName: ${copyOf(each)}" in place of ${each.name}`),
      ...handling.flatMap((each) => [withItsVariables(each), withItsFlags(each)]),
      ...(config.vCenters.length > 1 ? [WAITS_FOR_ALL] : []),
    ].join('')}`,
    ...mayReadSecrets(read),
    ...seen.flatMap(mayRead),
    ...(isHeld ? [LOOK] : []),
    ...seen.map((each) => stop(each, isNeeded)),
    ...cpi.filter((each) => isNeeded || !handlesNodes(each)).flatMap(isNeighbor),
    ...(isHeld ? [WAIT] : []),
    GONE_BEFORE,
    'run agents on the nodes; there is none for Windows, so exempt such Nodes ("identity.exempt", docs/configuration.md); once "kubectl get nr" shows no other Node as asserted, set "identity: {require: reported}"',
    'to go back: kubectl -n kube-system scale deployment rollcall-controller --replicas=0, then start the CPI; docs/hand-over.md says what to remove, and what the CPI writes again',
  ]
}

const LOOK =
  'check: kubectl get nr shows how the VM of each Node is known; Rollcall leaves Nodes to the CPI while it handles them, and its Pods say so at /readyz'
const WAIT =
  'wait: Rollcall takes over by itself about 20 seconds after the Lease was last renewed, or, without leader election, within two minutes after the last Pod is gone; Nodes that the CPI has initialized stay as they are, and new ones keep their taint until then'
const WAITS_FOR_ALL =
  '; with several vCenters, a new Node without an agent waits until all answer, because any may have a copy of its VM: to take that risk, add "requireAllVCenters: false" beside "require"'
const GONE_BEFORE =
  'Nodes whose machines were already gone say NotBound in "kubectl get nr -o wide", and Rollcall keeps them: delete them, or set "lifecycle: {unbound: delete}" (docs/lifecycle.md)'

/** Rollcall does not see what a CPI outside kube-system does: because of its Lease alone it would leave Nodes to it forever. */
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

function withItsVariables(cpi: Manager): string {
  const variables = overriding(cpi).map(([name]) => name)
  const deletion = cpi.skipsDeletion
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

/** As `manifests/credentials.example.yaml`. A Role is for one namespace. */
function mayReadSecrets(secrets: readonly ObjectName[]): readonly string[] {
  const role = 'rollcall-credentials'
  return [...Map.groupBy(secrets, ({ namespace }) => namespace)].map(([namespace, its]) => {
    const names = its.map(({ name }) => ` --resource-name=${name}`).join('')
    return `let Rollcall read vCenter's user and password: kubectl -n ${namespace} create role ${role} --verb=list,watch --resource=secrets${names} && kubectl -n ${namespace} create rolebinding ${role} --role=${role} --serviceaccount=kube-system:rollcall-controller`
  })
}

/** The release that installed it; undefined also where its name could not be part of a command. */
function releaseOf({ release }: Manager): Manager['release'] {
  return release !== undefined && isName(release.name) && isName(release.namespace) ? release : undefined
}

/** Whether Helm deletes a Secret together with the CPI: a chart's Secret is in the namespace of its release. */
function goesWith(cpi: Manager, { namespace }: ObjectName): boolean {
  return releaseOf(cpi)?.namespace === namespace
}

function keepValues(cpi: Manager): readonly string[] {
  const release = releaseOf(cpi)
  if (release === undefined) return []
  return [
    `keep the values of its chart, to go back, or for Rollcall's chart (docs/helm.md): helm get values ${release.name} --namespace ${release.namespace} --output yaml > cpi-values.yaml`,
  ]
}

function copyOf({ name }: ObjectName): string {
  return `rollcall-${name}`
}

function copy(secret: ObjectName): string {
  const { namespace, name } = secret
  return `copy the Secret ${name}, because "helm uninstall" deletes it with the CPI if the chart created it: kubectl -n ${namespace} get secret ${name} --output jsonpath='{"{apiVersion: v1, kind: Secret, metadata: {name: ${copyOf(secret)}}, data: "}{.data}{"}"}' | kubectl -n ${namespace} create --filename -`
}

/** Whether it may be part of a command: anybody who may run a Pod chooses the arguments that are read here. */
function isName(text: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/.test(text)
}

function stop(cpi: Manager, isNeeded: boolean): string {
  const release = releaseOf(cpi)
  const of = release && `${release.name} --namespace ${release.namespace}`
  if (isNeeded) {
    const start = `start ${nameOf(cpi)} with --controllers=service,route, so that it keeps serving those and does nothing else`
    if (of === undefined) return start
    return `${start}; with its chart: helm upgrade ${of} vsphere-cpi/vsphere-cpi --version VERSION --reuse-values --set 'daemonset.cmdline.additionalParams.controllers=service\\,route' (helm list --namespace ${release?.namespace} shows VERSION)`
  }
  return of === undefined
    ? `kubectl -n ${cpi.namespace} delete ${cpi.kind.toLowerCase()} ${cpi.name} --cascade=foreground, along with anything that would create it again`
    : `helm uninstall ${of}`
}
