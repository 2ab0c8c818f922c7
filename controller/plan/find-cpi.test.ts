import t from 'tap'
import { findManagers, parseWorkload, type Workload } from './find-cpi.ts'
import { handOver } from './hand-over.ts'

function workload(
  name: string,
  image: string,
  args: readonly string[],
  command: readonly string[] = [],
): Workload {
  const parsed = parseWorkload('DaemonSet', {
    metadata: { namespace: 'kube-system', name },
    spec: { template: { spec: { containers: [{ image, command, args }] } } },
  })
  if (parsed === undefined) throw new Error('it is no workload')
  return parsed
}

const CPI = 'registry.example.com/csi-vsphere/cloud-provider-vsphere:v1.36.0'
const LEASE = { namespace: 'kube-system', name: 'cloud-controller-manager' }

t.test('the CPI is told by image, command or arguments, and from other clouds', async (t) => {
  const cpi = (each: Workload) => findManagers([each]).cpi[0]
  const none = (each: Workload) => findManagers([each])
  t.same(cpi(workload('cpi', CPI, ['--v=2'])), {
    kind: 'DaemonSet',
    namespace: 'kube-system',
    name: 'cpi',
    lease: LEASE,
    handlesNodes: true,
  })
  t.ok(cpi(workload('own', 'example.com/ccm:1', ['--cloud-provider', 'vsphere'])))
  t.ok(cpi(workload('own', 'example.com/x:1', [], ['/bin/vsphere-cloud-controller-manager'])))
  t.same(cpi(workload('cpi', CPI, ['--leader-elect=false']))?.lease, undefined)
  t.same(
    cpi(workload('cpi', CPI, ['--leader-elect-resource-name=a', '--leader_elect_resource_namespace', 'b']))
      ?.lease,
    {
      namespace: 'b',
      name: 'a',
    },
  )
  t.equal(cpi(workload('cpi', CPI, ['--controllers=service,route']))?.handlesNodes, false)
  t.equal(cpi(workload('cpi', CPI, ['--controllers=*,-cloud-node']))?.handlesNodes, true)
  t.match(none(workload('aws', 'example.com/aws-cloud-controller-manager:1', [])), {
    cpi: [],
    others: [{ name: 'aws' }],
  })
  t.same(none(workload('rollcall', 'rollcall-controller:1', ['--cloud-provider=vsphere'])), {
    cpi: [],
    others: [],
  })
  t.same(none(workload('web', 'nginx', ['--provider=vsphere'])), { cpi: [], others: [] })
  t.equal(parseWorkload('Deployment', { metadata: {} }), undefined)
})

t.test('the steps are those of this cluster', async (t) => {
  const { cpi } = findManagers([workload('cpi', CPI, [])])
  const lease = { holder: 'node-1_ab', durationSeconds: 15, acquireTime: '', renewTime: 'T', transitions: 0 }
  const plain = handOver({ cpi, others: [], lease, loadBalancers: [] })
  t.match(plain, ['the vSphere CPI is DaemonSet kube-system/cpi', /held by node-1_ab, .* renewed at T/])
  t.ok(plain.some((line) => line.includes('kubectl -n kube-system delete daemonset cpi')))
  const balancing = handOver({ cpi, others: [], lease, loadBalancers: ['a/b'] })
  t.ok(balancing.some((line) => line.startsWith('1 Services of type LoadBalancer')))
  t.ok(balancing.some((line) => line.includes('--controllers=service,route')))
  t.notOk(balancing.some((line) => line.includes('delete daemonset')))
  const neighbour = findManagers([workload('cpi', CPI, ['--controllers=service,route'])])
  const beside = handOver({ ...neighbour, lease: undefined, loadBalancers: ['a/b'] })
  t.match(beside[0], 'leaves Nodes alone')
  t.notOk(
    beside.some((line) => line.includes('so that it serves')),
    'nothing is to be done about it',
  )
  t.match(handOver({ cpi: [], others: [], lease: undefined, loadBalancers: [] })[0], 'no vSphere CPI')
})
