/** What the CPI (v1.36) meets in NSX while it serves Services and routes: what its file, its arguments, Services and Nodes make likely. */
import { Findings } from '../config/findings.ts'
import { readTree } from '../config/load.ts'
import { spelling } from '../config/settings/row.ts'
import type { ConfigTree } from '../config/tree.ts'
import { counted } from '../lib/format.ts'
import { FLAGS } from './arguments/table.ts'
import type { Manager } from './interlock/find-cpi.ts'

/** A Service of type LoadBalancer without a class, which the CPI serves. */
export interface BalancedService {
  /** As `default/web`. */
  readonly name: string
  readonly sourceRanges: boolean
  /** Whether it asks for an address. */
  readonly loadBalancerIP: boolean
  readonly noNodePorts: boolean
  readonly sctp: boolean
}

/** One sentence, or two; what it is about is a line of `doctor`. */
export interface NSXWarning {
  readonly of: 'services' | 'routes'
  readonly message: string
}

/** What the file of a CPI says of NSX. */
interface NSXSettings {
  readonly secret: boolean
  readonly balances: boolean
  readonly size: string
  /** The gateway whose load balancer service the CPI makes itself; undefined where the file names a service. */
  readonly tier1: string | undefined
  readonly snat: boolean
  readonly routes: boolean
}

/** @param text the CPI's file, in any of its forms; what is wrong in it counts as not written */
export function readNSX(text: string): NSXSettings {
  const tree = readTree(text, new Findings())
  const of = (section: string) => (key: string) => textOf(childOf(childOf(tree, section), key))
  const balancer = of('loadBalancer')
  const classes = childOf(tree, 'loadBalancerClass')
  return {
    secret: of('nsxt')('secretName') !== '',
    balances:
      ['size', 'lbServiceId', 'ipPoolName', 'ipPoolId', 'tier1GatewayPath'].some(
        (key) => balancer(key) !== '',
      ) ||
      (classes?.kind === 'map' && classes.entries.length > 0),
    size: balancer('size'),
    tier1: balancer('lbServiceId') === '' ? balancer('tier1GatewayPath') || undefined : undefined,
    snat: !/^(true|1|t|yes|on)$/i.test(balancer('snatDisabled')),
    routes: of('route')('routerPath') !== '',
  }
}

function childOf(tree: ConfigTree | undefined, key: string): ConfigTree | undefined {
  if (tree?.kind !== 'map') return undefined
  return tree.entries.findLast((entry) => spelling(entry.key) === spelling(key))?.value
}

function textOf(tree: ConfigTree | undefined): string {
  return tree?.kind === 'text' ? tree.text : ''
}

/** @param withoutAddress the Nodes whose kubelet has no `--node-ip`, so that they register without an address */
export function warnOfNSX(
  { serves, flags, variables }: Pick<Manager, 'serves' | 'flags' | 'variables'>,
  settings: NSXSettings,
  services: readonly BalancedService[],
  withoutAddress: readonly string[],
): readonly NSXWarning[] {
  const [balances, routes] = [serves.services && settings.balances, serves.routes && settings.routes]
  const named = (which: (service: BalancedService) => boolean) =>
    services.filter(which).map(({ name }) => name)
  const about = (which: (service: BalancedService) => boolean, what: string, then: string) => {
    const names = named(which)
    return names.length === 0 ? [] : [`Services ${what}: ${counted(names)}; ${then}`]
  }
  const ofServices = [
    ...(settings.size === ''
      ? [
          'without loadBalancer.size the CPI serves no Service, and says so in a warning of its log alone; write it, as SMALL',
        ]
      : []),
    shared(flags.clusterName),
    ...(settings.secret || variables.has('NSXT_SECRET_NAME')
      ? [
          'with a load balancer and nsxt.secretName the CPI does not start, because it reads that Secret only after its first request to NSX; write user and password under nsxt in its file',
        ]
      : []),
    ...(settings.tier1 === undefined
      ? []
      : [
          `the CPI takes any load balancer service on ${settings.tier1} for its own, deletes it with the last Service of the cluster, and then serves none until it is restarted; share that gateway with nobody, and name a service of yours in loadBalancer.lbServiceId`,
        ]),
    ...about(
      ({ sourceRanges }) => sourceRanges,
      'with loadBalancerSourceRanges',
      settings.snat
        ? 'NSX lets every client in, and kube-proxy sees the address of NSX instead of the client and may drop all of them; remove the ranges, or filter elsewhere'
        : 'NSX lets every client in; only kube-proxy checks the ranges',
    ),
    ...about(
      ({ loadBalancerIP }) => loadBalancerIP,
      'with loadBalancerIP',
      'the CPI ignores it, and takes any address of the pool',
    ),
    ...about(
      ({ noNodePorts }) => noNodePorts,
      'with allocateLoadBalancerNodePorts: false',
      'NSX refuses them without node ports, and the CPI repeats the request forever; let node ports be allocated',
    ),
    ...about(
      ({ sctp }) => sctp,
      'with a port of SCTP',
      'the CPI cannot serve them, and leaves a pool in NSX with each attempt; give them a loadBalancerClass of another provider',
    ),
    ...(withoutAddress.length === 0
      ? []
      : [
          `Nodes whose kubelet has no --node-ip: ${counted(withoutAddress)}; if the address of such a Node changes, the CPI does not tell NSX until another Node or the Service changes`,
        ]),
  ]
  const ofRoutes = [
    ...(!flags.clusterCIDR
      ? ["with route.routerPath and without --cluster-cidr the CPI does not start; give it the Pods' subnet"]
      : []),
    ...(withoutAddress.length === 0
      ? []
      : [
          `Nodes whose kubelet has no --node-ip: ${counted(withoutAddress)}; the CPI makes no route to a new one of them until it is restarted; start kubelets with --node-ip (rollcall-agent --print --kubelet-args prints it)`,
        ]),
  ]
  const as = (of: NSXWarning['of'], messages: readonly string[]) =>
    messages.map((message) => ({ of, message }))
  return [...as('services', balances ? ofServices : []), ...as('routes', routes ? ofRoutes : [])]
}

function shared(name: string = FLAGS['cluster-name'].default): string {
  const standard = name === FLAGS['cluster-name'].default ? ', the default' : ''
  return `the cluster name is ${name}${standard}: in one NSX, two clusters of one name delete each other's load balancers when a CPI starts; give other clusters a --cluster-name of their own, and leave this one, because with another name its Services would get other addresses`
}
