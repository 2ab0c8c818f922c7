import t from 'tap'
import { admissionBudgets, budgeted, isKept, typicalFloors } from './budgets.ts'
import type { BenchmarkRun } from './initialize.ts'

const MB = 1e6

/** A run whose vCenter sent so much, and so much again in as many quiet seconds. */
function run(
  nodes: number,
  wire: number,
  quiet?: { readonly seconds: number; readonly wire: number },
): BenchmarkRun {
  const none = { calls: 0, operations: {}, cpuSeconds: 0, anonymous: 0 }
  return {
    provider: 'Rollcall',
    nodes,
    seconds: 1,
    firstSeconds: 1,
    apiServer: { initialized: 1, recorded: 1 },
    writes: 0,
    calls: 0,
    operations: {},
    bytes: { Read: { wire: wire / 2, inflated: wire * 5 }, Wait: { wire: wire / 2, inflated: wire * 5 } },
    sessions: { soap: 1, rest: 1 },
    usage: { cpuSeconds: 1, peakResident: 1, peakAnonymous: 1, anonymous: 1, resident: 1 },
    quiet:
      quiet === undefined
        ? undefined
        : {
            ...none,
            seconds: quiet.seconds,
            bytes: { Read: { wire: quiet.wire, inflated: 10 * quiet.wire } },
          },
    early: [],
    wrong: [],
  }
}

function trafficOf(start: BenchmarkRun) {
  const measured = {
    nodes: start.nodes,
    floor: 1,
    bareFloor: 1,
    reports: 1,
    start,
    arrival: run(start.nodes, 0),
  }
  return budgeted([measured]).filter(({ figure }) => figure.includes('from vCenter'))
}

t.test('what vCenter sends has a budget with 1,000 Nodes, as sent, and the inflated bytes are told', (t) => {
  const figures = trafficOf(run(1_000, 2 * MB, { seconds: 300, wire: 1 * MB }))
  t.same(
    figures.map(({ figure, value }) => [figure, value]),
    [
      ['1000 Nodes: from vCenter until all are initialized, MB as sent (inflated: 20.0)', 2],
      ['1000 Nodes: from vCenter in a quiet hour, MB as sent (inflated: 120)', 12],
    ],
  )
  t.ok(figures.every(isKept))
  t.notOk(trafficOf(run(1_000, 5.4 * MB)).every(isKept), 'more than half of a former resync')
  t.notOk(
    trafficOf(run(1_000, 0, { seconds: 300, wire: 1.1 * MB })).every(isKept),
    'more than a tenth of a former hour',
  )
  t.end()
})

t.test('ten times as many Nodes may take ten times as much of vCenter', (t) => {
  t.ok(trafficOf(run(10_000, 53 * MB, { seconds: 300, wire: 10 * MB })).every(isKept))
  const missed = trafficOf(run(10_000, 54 * MB, { seconds: 300, wire: 11 * MB })).filter(
    (each) => !isKept(each),
  )
  t.equal(missed.length, 2)
  t.end()
})

t.test('there is none for an hour on which nobody looked, nor for other numbers of Nodes', (t) => {
  t.equal(trafficOf(run(1_000, MB)).length, 1)
  for (const nodes of [1, 100, 5_000])
    t.same(trafficOf(run(nodes, 100 * MB, { seconds: 60, wire: 100 * MB })), [])
  t.end()
})

t.test('10,000 Nodes take at most nine times what 1,000 take, and 240 MB', (t) => {
  const measured = (nodes: number, seconds: number, peakResident: number) => {
    const start = { ...run(nodes, 0), seconds }
    return {
      nodes,
      floor: seconds,
      bareFloor: seconds,
      reports: seconds,
      start: { ...start, usage: { ...start.usage, peakResident } },
      arrival: run(nodes, 0),
    }
  }
  const missed = (seconds: number, resident: number) =>
    budgeted([measured(1_000, 5, 130), measured(10_000, seconds, resident)])
      .filter((each) => !isKept(each))
      .map(({ figure }) => figure)
  t.same(missed(45, 240), [])
  t.same(missed(46, 241), [
    '10000 Nodes: resident memory, MB',
    '10000 Nodes from the start, times 1000 Nodes',
  ])
  t.end()
})

t.test('a write may cost little more than without our manifests', (t) => {
  const write = { labels: 10, taints: 1, writer: 'an administrator', bare: 2 } as const
  t.ok(admissionBudgets([{ ...write, ours: 2.2 }]).every(isKept))
  t.notOk(admissionBudgets([{ ...write, ours: 2.5 }]).every(isKept))
  t.ok(admissionBudgets([{ ...write, labels: 20_000, ours: 2.5 }]).every(isKept), 'a bit more of a huge Node')
  t.end()
})

t.test('floors are the middle ones, and the lower of two', (t) => {
  const floors = (floor: number) => ({ floor, bareFloor: 2 * floor, reports: 10 - floor })
  t.strictSame(typicalFloors([3, 9, 4].map(floors)), { floor: 4, bareFloor: 8, reports: 6 })
  t.strictSame(typicalFloors([5, 4].map(floors)), { floor: 4, bareFloor: 8, reports: 5 })
  t.end()
})
