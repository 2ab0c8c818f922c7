import t from 'tap'
import { checkNode } from './check.ts'
import type { ExpectedNode } from './scene.ts'
import type { ObservedNode, ObservedReport } from './view.ts'

const planned: ExpectedNode = {
  name: 'worker-1',
  vm: {
    ref: 'vm-42',
    name: 'DC0_C0_RP0_VM0',
    uuid: '420e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    instanceUuid: '500e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    vnics: [{ key: 4000, mac: '00:50:56:00:00:01', network: 'net' }],
    host: 'DC0_C0_H0',
    cluster: 'DC0_C0',
    datacenter: 'DC0',
    powerState: 'poweredOn',
  },
  address: '10.20.0.11',
  zone: 'zone-a',
  region: 'region-1',
  instanceType: 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
  agent: 'kubelet',
}

const labels = {
  'topology.kubernetes.io/zone': 'zone-a',
  'failure-domain.beta.kubernetes.io/zone': 'zone-a',
  'topology.kubernetes.io/region': 'region-1',
  'failure-domain.beta.kubernetes.io/region': 'region-1',
  'node.kubernetes.io/instance-type': 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
  'beta.kubernetes.io/instance-type': 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
}
const addresses = [
  { type: 'Hostname', address: 'worker-1' },
  { type: 'InternalIP', address: '10.20.0.11' },
  { type: 'ExternalIP', address: '10.20.0.11' },
]
const right: ObservedNode = {
  metadata: { name: 'worker-1', labels },
  spec: { providerID: 'vsphere://420e3f74-ea84-f9a2-7736-6106bb5dbf6b', taints: [{ key: 'other' }] },
  status: { addresses },
}
const status = {
  identityLevel: 'proven' as const,
  vm: {
    vCenter: 'main',
    vCenterInstanceUUID: '600e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    moref: 'vm-42',
    name: 'DC0_C0_RP0_VM0',
    instanceUUID: '500e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    biosUUID: '420e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    host: 'DC0_C0_H0',
  },
}
const report: ObservedReport = { metadata: { name: 'worker-1' }, status }

t.test('a Node that is as vCenter says has no problem', (t) => {
  t.same(checkNode(planned, right, report), [])
  t.end()
})

t.test('each difference is a problem of its own', (t) => {
  const { 'topology.kubernetes.io/zone': _, ...fewer } = labels
  const taints = [{ key: 'node.cloudprovider.kubernetes.io/uninitialized' }]
  const cases: [string, ObservedNode | undefined, ObservedReport | undefined, RegExp][] = [
    ['no Node', undefined, report, /not there/],
    ['no report', right, undefined, /no NodeReport/],
    ['tainted', { ...right, spec: { ...right.spec, taints } }, report, /still has the taint/],
    ['no provider ID', { ...right, spec: {} }, report, /provider ID is missing/],
    [
      'a label is missing',
      { ...right, metadata: { name: 'worker-1', labels: fewer } },
      report,
      /zone is missing/,
    ],
    [
      'a beta label differs',
      {
        ...right,
        metadata: {
          name: 'worker-1',
          labels: { ...labels, 'failure-domain.beta.kubernetes.io/region': 'r' },
        },
      },
      report,
      /beta\.kubernetes\.io\/region is r, expected region-1/,
    ],
    [
      'an address is missing',
      { ...right, status: { addresses: addresses.slice(1) } },
      report,
      /addresses is Int/,
    ],
    [
      'not proven',
      right,
      { ...report, status: { ...status, identityLevel: 'reported' } },
      /is reported, expected/,
    ],
    [
      'another VM',
      right,
      { ...report, status: { ...status, vm: { ...status.vm, moref: 'vm-43' } } },
      /bound VM is vm-43, expected vm-42/,
    ],
  ]
  for (const [name, node, seen, problem] of cases) {
    const problems = checkNode(planned, node, seen)
    t.equal(problems.length, 1, name)
    t.match(problems[0], problem, name)
  }
  t.end()
})

t.test('a Node that is still tainted says why', (t) => {
  const node = {
    ...right,
    spec: { ...right.spec, taints: [{ key: 'node.cloudprovider.kubernetes.io/uninitialized' }] },
  }
  const condition = {
    type: 'VMFound' as const,
    status: 'False' as const,
    reason: 'NoSuchVM',
    message: 'look there',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const problems = checkNode(planned, node, { ...report, status: { ...status, conditions: [condition] } })
  t.match(problems, [/VMFound: NoSuchVM, look there/])
  t.end()
})
