import t from 'tap'
import type { Condition } from '../../../agent/shared/node-report.ts'
import type { ObservedNode } from '../view.ts'
import { checkEnding, type EndingEvidence } from './check-ending.ts'
import type { Roles } from './roles.ts'

const roles = {
  destroyed: { name: 'gone' },
  poweredOff: { name: 'off' },
  moved: { name: 'moved' },
} as Roles

const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }

function node(name: string, change: Partial<ObservedNode['spec']> = {}): [string, ObservedNode] {
  const labels = { zone: 'a' }
  const spec = { providerID: `vsphere://${name}`, taints: [], ...change }
  return [name, { metadata: { name, labels }, spec, status: {} }]
}

function condition(reason: string, message = ''): Condition {
  const lastTransitionTime = '2026-01-01T00:00:00Z'
  return { type: 'DeletionPending', status: 'Unknown', reason, message, lastTransitionTime }
}

const lacks = condition('PrivilegeMissing', 'the account lacks System.Read on Folder "vm" (group-2)')
const before = new Map([node('gone'), node('off'), node('moved'), node('other')])
const after = new Map([node('off', { taints: [SHUTDOWN] }), node('moved'), node('other')])
const none = new Map()
const right: EndingEvidence = {
  before: { nodes: before, reports: none },
  after: { nodes: after, reports: none },
  destruction: { after: 4_000, said: [condition('NotConfirmed')], events: [{ reason: 'NodeDeleted' }] },
  powerOff: { after: 300, events: [{ type: 'Warning', reason: 'VMShutDown' }] },
  move: { after: 300, condition: condition('TopologyChanged') },
  loss: { lasted: 10_000, said: new Map(['off', 'moved', 'other'].map((name) => [name, lacks])) },
}

const ends = (...nodes: [string, ObservedNode][]): Partial<EndingEvidence> => ({
  after: { nodes: new Map([...after, ...nodes]), reports: none },
})
const without = (name: string): Partial<EndingEvidence> => ({
  after: { nodes: new Map([...after].filter(([each]) => each !== name)), reports: none },
})

t.test('as it should be', (t) => {
  t.same(checkEnding(roles, right), [])
  t.end()
})

t.test(
  'a Node without a provider ID, as the forger, is bound to nothing and need not name a privilege',
  (t) => {
    const [name, forger] = node('forger')
    const { providerID: _, ...spec } = forger.spec
    const nodes = (map: typeof before) => ({
      nodes: new Map([...map, [name, { ...forger, spec }]]),
      reports: none,
    })
    t.same(checkEnding(roles, { ...right, before: nodes(before), after: nodes(after) }), [])
    t.end()
  },
)

t.test('each thing that is not so is a problem of its own', (t) => {
  const cases: [string, Partial<EndingEvidence>, RegExp][] = [
    ['not deleted', ends(node('gone')), /^gone: the Node is there/],
    ['too early', { destruction: { ...right.destruction, after: 2_900 } }, /^gone: .* before 3000 ms/],
    [
      'too late',
      { destruction: { ...right.destruction, after: 13_100 } },
      /^gone: .* after 13100 ms, expected/,
    ],
    [
      'without an Event',
      { destruction: { ...right.destruction, events: [] } },
      /^gone: no Event NodeDeleted/,
    ],
    ['without a word', { destruction: { ...right.destruction, said: [] } }, /^gone: DeletionPending never/],
    ['not tainted', ends(node('off')), /^off: has no shutdown taint/],
    [
      'with a wrong effect',
      ends(node('off', { taints: [{ ...SHUTDOWN, effect: 'NoExecute' }] })),
      /^off: has no shutdown taint/,
    ],
    ['tainted late', { powerOff: { ...right.powerOff, after: 3_100 } }, /^off: was tainted after 3100 ms/],
    ['no Warning', { powerOff: { ...right.powerOff, events: [] } }, /^off: no Warning/],
    [
      'not reported',
      { move: { after: 1, condition: condition('Resolved') } },
      /^moved: .* Resolved, not Top/,
    ],
    ['another was deleted', without('other'), /^other: the Node was deleted though its VM exists/],
    ['the moved one was deleted', without('moved'), /^moved: the Node was deleted/],
    ['another was changed', ends(node('other', { taints: [SHUTDOWN] })), /^other: .*changed: spec.taints/],
    [
      'more than the taint was changed',
      ends(node('off', { taints: [SHUTDOWN], providerID: 'vsphere://x' })),
      /^off: .*changed: spec.providerID/,
    ],
    ['a new one', ends(node('new')), /^new: the Node is new/],
    ['too short', { loss: { ...right.loss, lasted: 7_000 } }, /away for 7000 ms/],
    [
      'the privilege is not named',
      { loss: { ...right.loss, said: new Map([...right.loss.said, ['other', condition('NoPermission')]]) } },
      /^other: DeletionPending did not name/,
    ],
  ]
  for (const [name, change, problem] of cases) {
    const problems = checkEnding(roles, { ...right, ...change })
    t.equal(problems.length, 1, name)
    t.match(problems[0], problem, name)
  }
  t.end()
})
