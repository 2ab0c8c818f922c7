import t from 'tap'
import type { Condition } from '../../agent/shared/node-report.ts'
import { checkForger, type ForgeryEvidence } from './check-forger.ts'
import type { Snapshot } from './observe.ts'
import type { DemoForger } from './scene.ts'
import type { ObservedNode, ObservedReport } from './view.ts'

const vm = {
  ref: 'vm-42',
  name: 'DC0_C0_RP0_VM0',
  uuid: '420e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  instanceUuid: '500e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  vnics: [],
  host: 'DC0_C0_H0',
  cluster: 'DC0_C0',
  datacenter: 'DC0',
  powerState: 'poweredOn' as const,
}
const forger: Pick<DemoForger, 'pretense' | 'victim'> = {
  pretense: { name: 'forger', vm, address: '10.20.0.12', agent: 'kubelet' },
  victim: {
    name: 'worker-1',
    vm,
    address: '10.20.0.11',
    zone: 'zone-a',
    region: 'region-1',
    instanceType: 'x',
    agent: 'pod',
  },
}
const victimNode: ObservedNode = {
  metadata: { name: 'worker-1' },
  spec: { providerID: 'vsphere://x' },
  status: {},
}
const victimReport: ObservedReport = { metadata: { name: 'worker-1' }, status: { identityLevel: 'proven' } }
const refusedNode: ObservedNode = {
  metadata: { name: 'forger' },
  spec: { taints: [{ key: 'node.cloudprovider.kubernetes.io/uninitialized' }] },
  status: {},
}
const refusal: Condition = {
  type: 'IdentityVerified',
  status: 'False',
  reason: 'ClaimedByAnotherNode',
  message: 'look for a forged report',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}
const refusedReport: ObservedReport = { metadata: { name: 'forger' }, status: { conditions: [refusal] } }
const event = { type: 'Warning', reason: 'ClaimedByAnotherNode', involvedObject: { name: 'forger' } }

function snapshot(
  nodes: readonly (ObservedNode | undefined)[],
  reports: readonly (ObservedReport | undefined)[],
): Snapshot {
  const byName = <T extends { metadata: { name: string } }>(items: readonly (T | undefined)[]) =>
    new Map(items.filter((item) => item !== undefined).map((item) => [item.metadata.name, item]))
  return { nodes: byName(nodes), reports: byName(reports) }
}

const before = snapshot([victimNode], [victimReport])

/** As it should be, but for these. */
function evidence(
  change: {
    node?: ObservedNode | undefined
    status?: ObservedReport['status']
    victimNode?: ObservedNode | undefined
    victimReport?: ObservedReport | undefined
    events?: ForgeryEvidence['events']
  } = {},
): ForgeryEvidence {
  const all = {
    node: refusedNode,
    status: refusedReport.status,
    victimNode,
    victimReport,
    events: [event],
    ...change,
  }
  const report = { ...refusedReport, ...(all.status === undefined ? {} : { status: all.status }) }
  const after = snapshot([all.node, all.victimNode], [report, all.victimReport])
  return { before, after, events: all.events }
}

t.test('a forger that got nothing is no problem', (t) => {
  t.same(checkForger(forger, evidence()), [])
  t.end()
})

t.test('each thing that it got, and each harm done, is a problem of its own', (t) => {
  const bound = {
    vCenter: 'main',
    vCenterInstanceUUID: vm.instanceUuid,
    moref: 'vm-42',
    name: vm.name,
    instanceUUID: vm.instanceUuid,
    biosUUID: vm.uuid,
  }
  const touched = { ...victimNode, metadata: { name: 'worker-1', resourceVersion: '2' } }
  const cases: [string, Parameters<typeof evidence>[0], RegExp][] = [
    ['no Node', { node: undefined }, /forger: the Node is not there/],
    ['no taint', { node: { ...refusedNode, spec: {} } }, /lost the taint/],
    [
      'a provider ID',
      { node: { ...refusedNode, spec: { ...refusedNode.spec, providerID: 'vsphere://x' } } },
      /got the provider ID vsphere:\/\/x/,
    ],
    ['no condition', { status: {} }, /IdentityVerified is missing, expected False, Cla/],
    ['believed', { status: { conditions: [{ ...refusal, status: 'True' }] } }, /is True, ClaimedBy/],
    [
      'refused for another reason',
      { status: { conditions: [{ ...refusal, reason: 'MACsContradict' }] } },
      /is False, MACsContradict, expected/,
    ],
    ['a level', { status: { conditions: [refusal], identityLevel: 'reported' } }, /level is reported/],
    ['a VM', { status: { conditions: [refusal], vm: bound } }, /bound to the VM DC0_C0_RP0_VM0/],
    ['no Event', { events: [] }, /no Warning ClaimedByAnotherNode/],
    ['another Event', { events: [{ ...event, type: 'Normal' }] }, /no Warning/],
    ['the Node touched', { victimNode: touched }, /worker-1: its Node is not what it was/],
    ['the Node gone', { victimNode: undefined }, /worker-1: its Node is not what it was/],
    [
      'the report touched',
      { victimReport: { ...victimReport, status: { identityLevel: 'reported' } } },
      /worker-1: its NodeReport is not what it was/,
    ],
  ]
  for (const [name, change, problem] of cases) {
    const problems = checkForger(forger, evidence(change))
    t.equal(problems.length, 1, `${name}: ${problems.join(' | ')}`)
    t.match(problems[0], problem, name)
  }
  t.match(checkForger(forger, { ...evidence(), before: snapshot([], []) }), [/its Node/, /its NodeReport/])
  t.end()
})
