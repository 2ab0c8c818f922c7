import t from 'tap'
import { findManagers } from './interlock/find-cpi.ts'
import { type CPIObjectChanges, cpiObject } from './interlock/testing/cpi-object.ts'
import { parseWorkload } from './interlock/workloads.ts'
import { type BalancedService, readNSX, warnOfNSX } from './nsx.ts'

const YAML = `global: {user: a, password: b}
vcenter: {vc: {server: vc.example.com, datacenters: [dc]}}
nsxt: {host: nsx.example.com, user: u, password: p}
loadBalancer:
  size: SMALL
  tier1GatewayPath: /infra/tier-1s/t1
  ipPoolName: pool
route: {routerPath: /infra/tier-1s/t1}
`
const INI = `[Global]
user = a
[VirtualCenter "vc.example.com"]
datacenters = dc
[NSXT]
host = nsx.example.com
secret-name = nsx
secret-namespace = kube-system
[LoadBalancer]
size = SMALL
lb-service-id = 4711
snat-disabled = true
[LoadBalancerClass "public"]
ip-pool-name = pool
`

const plain: BalancedService = {
  name: 'default/web',
  sourceRanges: false,
  loadBalancerIP: false,
  noNodePorts: false,
  sctp: false,
}

interface Case {
  readonly file?: string
  readonly args?: readonly string[]
  readonly changes?: CPIObjectChanges
  readonly services?: readonly BalancedService[]
  readonly without?: readonly string[]
}

function warnings({ file = YAML, args = [], changes = {}, services = [plain], without = [] }: Case = {}) {
  const workload = parseWorkload('DaemonSet', cpiObject(['--cluster-cidr=10.244.0.0/16', ...args], changes))
  const [cpi] = findManagers(workload === undefined ? [] : [workload]).cpi
  if (cpi === undefined) throw new Error('it is no CPI')
  return warnOfNSX(cpi, readNSX(file), services, without).map(({ of, message }) => `${of}: ${message}`)
}

t.test('the cluster name, and a tier-1 gateway', async (t) => {
  t.match(warnings(), [
    /^services: the cluster name is kubernetes, the default: in one NSX, two clusters of one name delete/,
    /^services: the CPI takes any load balancer service on \/infra\/tier-1s\/t1 for its own/,
  ])
  t.match(warnings({ args: ['--cluster-name=west'] })[0], /the cluster name is west: in one NSX/)
  t.match(warnings({ file: INI }), [
    /the cluster name/,
    /with a load balancer and nsxt\.secretName the CPI does not start/,
  ])
  t.equal(warnings({ file: INI }).length, 2, 'a service of its own is not deleted')
  const env = [{ name: 'NSXT_SECRET_NAME', value: 'nsx' }]
  t.ok(warnings({ changes: { env } }).some((line) => line.includes('nsxt.secretName')))
})

t.test('a load balancer without a size serves nothing', async (t) => {
  t.match(
    warnings({ file: YAML.replace('  size: SMALL\n', '') })[0],
    /^services: without loadBalancer\.size .* serves no/,
  )
  t.notMatch(warnings().join(), 'loadBalancer.size')
})

t.test('what it ignores in Services', async (t) => {
  const of = (change: Partial<BalancedService>, file = YAML) =>
    warnings({ file, services: [plain, { ...plain, name: 'a/b', ...change }] }).find((line) =>
      line.includes('a/b'),
    )
  t.match(
    of({ sourceRanges: true }),
    /loadBalancerSourceRanges: 1 \(a\/b\); NSX lets every client in, and kube-proxy .* may drop all/,
  )
  t.match(of({ sourceRanges: true }, INI), /only kube-proxy checks the ranges/)
  t.match(of({ loadBalancerIP: true }), /loadBalancerIP: 1 \(a\/b\); the CPI ignores it/)
  t.match(of({ noNodePorts: true }), /allocateLoadBalancerNodePorts: false: 1 \(a\/b\); NSX refuses them/)
  t.match(of({ sctp: true }), /SCTP: 1 \(a\/b\); the CPI cannot serve them/)
})

t.test('kubelets without --node-ip, and routes', async (t) => {
  const lines = warnings({ without: ['worker-1'] }).filter((line) => line.includes('--node-ip'))
  t.match(lines, [/^services: .*1 \(worker-1\); if the address/, /^routes: .*makes no route to a new one/])
  t.match(
    warnings({ args: ['--cluster-cidr='] }).filter((line) => line.startsWith('routes:')),
    [/without --cluster-cidr the CPI does not start/],
  )
})

t.test('nothing where it serves neither, or its file names no NSX', async (t) => {
  const all = { services: [{ ...plain, sctp: true }], without: ['worker-1'] }
  t.same(warnings({ ...all, file: 'global: {user: a}\n' }), [])
  t.same(warnings({ ...all, file: '' }), [])
  t.same(warnings({ ...all, args: ['--controllers=cloud-node'] }), [])
  const routesAlone = warnings({ ...all, args: ['--controllers=route'] })
  t.ok(routesAlone.length > 0 && routesAlone.every((line) => line.startsWith('routes:')))
})
