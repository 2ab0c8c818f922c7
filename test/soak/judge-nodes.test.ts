import t from 'tap'
import type { NodeObject, ReportObject } from '../world/objects.ts'
import { judgeNodes } from './judge-nodes.ts'
import type { SoakMachine } from './ledger.ts'

const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
const UNINITIALIZED = { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }
const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', value: 'rollcall', effect: 'NoExecute' }

const machine: SoakMachine = {
  node: 'n',
  biosUUID: 'u',
  nodeUID: 'uid',
  reportedFor: 'uid',
  runs: true,
  destroyedAt: undefined,
}

function node(spec: NodeObject['spec'] = {}, uid = 'uid', ready = 'True'): NodeObject {
  return {
    metadata: { name: 'n', uid, resourceVersion: '1', labels: {} },
    spec: { providerID: 'vsphere://u', ...spec },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  }
}

function report(status: object): ReportObject {
  return { metadata: { name: 'n', uid: 'r', resourceVersion: '1' }, status } as ReportObject
}

const problems = (...args: Parameters<typeof judgeNodes>) => judgeNodes(...args).map(({ problem }) => problem)

t.test('all is as it should be', (t) => {
  t.same(problems([machine], [node()], []), [])
  t.same(problems([{ ...machine, runs: false }], [node({ taints: [SHUTDOWN] }, 'uid', 'Unknown')], []), [])
  const early = node({ taints: [UNINITIALIZED, SHUTDOWN] }, 'uid', 'Unknown')
  t.same(problems([{ ...machine, runs: false }], [early], []), [], 'off before it was initialized')
  t.same(problems([{ ...machine, destroyedAt: 1 }], [], []), [])
  t.end()
})

t.test('each thing that is not so is told', (t) => {
  const cases: [string, Parameters<typeof judgeNodes>, RegExp][] = [
    ['held forever', [[{ ...machine, destroyedAt: 1 }], [node()], []], /VM is gone: it has no report/],
    ['wrongly deleted', [[machine], [], []], /exists and has no Node/],
    ['never registered', [[{ ...machine, nodeUID: undefined }], [], []], /exists and has no Node/],
    ['another Node of the name', [[], [node()], []], /belongs to no machine/],
    ['not initialized', [[machine], [node({ taints: [UNINITIALIZED] })], []], /not initialized/],
    ['bound to the VM before', [[machine], [node({ providerID: 'vsphere://v' })], []], /provider ID/],
    ['tainted though it runs', [[machine], [node({ taints: [SHUTDOWN] })], []], /has the shutdown taint/],
    [
      'out of service though it runs',
      [[machine], [node({ taints: [OUT_OF_SERVICE] })], []],
      /out of service/,
    ],
    ['not ready', [[machine], [node({}, 'uid', 'Unknown')], []], /Ready is Unknown/],
    ['off and not tainted', [[{ ...machine, runs: false }], [node()], []], /is off, and/],
    ['a brake', [[machine], [node()], [report({ brakeEngagedAt: '2026' })]], /the brake holds since 2026/],
  ]
  for (const [what, args, expected] of cases) {
    const found = problems(...args)
    t.equal(found.length, 1, what)
    t.match(found[0], expected, what)
  }
  t.end()
})

t.test('one that is held says why', (t) => {
  const pending = { type: 'DeletionPending', reason: 'SignOfLife', message: 'it speaks' }
  const found = problems([{ ...machine, destroyedAt: 1 }], [node()], [report({ conditions: [pending] })])
  t.match(found[0], /SignOfLife: it speaks/)
  t.end()
})
