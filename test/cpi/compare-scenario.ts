/** Lets both providers work on a scenario, each on its own copy of the Nodes, and compares what they make of it. */

import { isDeepStrictEqual } from 'node:util'
import type { Condition } from '../../agent/shared/node-report.ts'
import { isInitialized, type NodeObject } from '../world/objects.ts'
import { sharedWithOthers } from './address-rules.ts'
import { brokenByChange } from './change-rules.ts'
import { afterChange, isReadAtStart, makeChange, withChange } from './changes.ts'
import { type ComparedNode, differencesOf, judge, type NodeOfEach } from './compare-nodes.ts'
import { brokenAtFirst } from './documented-rules.ts'
import { type RunningCPI, runCPI } from './run-cpi.ts'
import type { Change, Scenario, ScenarioCase } from './scenario.ts'
import { type CPIStage, readConditions, readNodes, runRollcall, type StagedScenario, setUp } from './stage.ts'

/** Within this time Rollcall has dealt with a change that it is told of, also on a machine that is busy; milliseconds. */
const DEALS_WITH_IT = 60_000

/** Lets both providers deal with the Nodes, and then with the changes of those that Rollcall's cluster has. */
export async function compareScenario(
  stage: CPIStage,
  scenario: Scenario,
  serial: number,
): Promise<readonly ComparedNode[]> {
  await using staged = await setUp(stage, scenario, serial)
  const [cpi, rollcall] = await Promise.allSettled([runCPI(stage, staged), keepRollcall(stage, staged)])
  try {
    if (cpi.status === 'rejected') throw cpi.reason
    if (rollcall.status === 'rejected') throw rollcall.reason
    const { compared: first, nodes } = await compareUntilRight(stage, cpi.value, (nodes) => {
      const found = scenario.cases.map((one, index) => ({ one, ...nodes.of(staged.names[index]) }))
      const initialized = found.flatMap(({ one, rollcall }) =>
        rollcall === undefined || one.node?.untainted === true || !isInitialized(rollcall) ? [] : rollcall,
      )
      return found.map(({ one, cpi: theirs, rollcall: ours }, index): ComparedNode => {
        const uuid = staged.machines[index]?.vm.uuid ?? ''
        const broken = [
          ...brokenAtFirst(ours, { scenario, one, uuid }),
          ...(ours !== undefined && initialized.includes(ours) ? sharedWithOthers(ours, initialized) : []),
        ]
        return { scenario, case: one, differences: differencesOf(theirs, ours), broken }
      })
    })
    const running = { stage, staged, cpi: cpi.value, rollcall: rollcall.value }
    return [...first, ...(await compareChanges(running, scenario, nodes))]
  } finally {
    for (const each of [cpi, rollcall]) if (each.status === 'fulfilled') await each.value.stop()
  }
}

/** Compares what both have made of the Nodes, and again for a while where something is unexplained: one may be late. */
async function compareUntilRight(
  stage: CPIStage,
  cpi: RunningCPI,
  compare: (nodes: NodesOfEach) => readonly ComparedNode[],
): Promise<{ readonly compared: readonly ComparedNode[]; readonly nodes: NodesOfEach }> {
  const start = performance.now()
  for (;;) {
    const nodes = await readEach(stage)
    const compared = compare(nodes)
    const isRight = judge(compared).unexplained.length === 0
    if (isRight || performance.now() - start > DEALS_WITH_IT) return { compared, nodes }
    await cpi.looksAgain()
  }
}

interface RunningRollcall {
  /** Resolves when another replica leads, which has read everything anew. */
  startAgain(): Promise<void>
  stop(): Promise<unknown>
}

async function keepRollcall(stage: CPIStage, staged: StagedScenario): Promise<RunningRollcall> {
  const start = () => runRollcall(stage, staged, stage.clusters.rollcall)
  let controller = await start()
  return {
    async startAgain() {
      await controller.stop()
      controller = await start()
    },
    stop: () => controller.stop(),
  }
}

interface Running {
  readonly stage: CPIStage
  readonly staged: StagedScenario
  readonly cpi: RunningCPI
  readonly rollcall: RunningRollcall
}

/** Undefined where one of them has no such Node. */
interface FoundNode {
  readonly cpi: NodeObject | undefined
  readonly rollcall: NodeObject | undefined
  /** What Rollcall says of it. */
  readonly said: readonly Condition[]
}

interface NodesOfEach {
  of(name: string | undefined): FoundNode
}

/** Makes the changes, the first of all Nodes at once, then the second; says of each Node what has come of each. */
async function compareChanges(
  { stage, staged, cpi, rollcall }: Running,
  scenario: Scenario,
  found: NodesOfEach,
): Promise<readonly ComparedNode[]> {
  const all: ComparedNode[] = []
  let { cases } = scenario
  let nodes = found
  const steps = Math.max(...cases.map(({ later = [] }) => later.length))
  for (let step = 0; step < steps; step++) {
    const changed: ChangedNode[] = []
    const next = [...cases]
    for (const [index, one] of cases.entries()) {
      const change = one.later?.[step]
      const machine = staged.machines[index]
      if (change === undefined || machine === undefined || machine.gone) continue
      const { cpi: theirs, rollcall: ours } = nodes.of(machine.name)
      if (ours === undefined) continue
      await makeChange(change, one, machine, { category: staged.category, clusters: stage.clusters })
      const after = afterChange(one, change, ours)
      next[index] = after
      changed.push({
        name: machine.name,
        uuid: machine.vm.uuid,
        change,
        one: after,
        before: { cpi: theirs && withChange(theirs, change), rollcall: withChange(ours, change) },
        ofBoth: theirs !== undefined && isInitialized(theirs) && isInitialized(ours),
      })
    }
    if (changed.length === 0) return all
    cases = next
    const after = { ...scenario, cases }
    const told = changed.filter(({ change }) => !isReadAtStart(change))
    const read = changed.filter(({ change }) => isReadAtStart(change))
    for (const some of [told, read]) {
      if (some.length === 0) continue
      if (some === read) await rollcall.startAgain()
      await cpi.looksAgain()
      const done = await compareUntilRight(stage, cpi, (nodes) =>
        some.map((each) => compareChanged(each, after, nodes.of(each.name))),
      )
      nodes = done.nodes
      all.push(...done.compared)
    }
  }
  return all
}

interface ChangedNode {
  readonly name: string
  readonly uuid: string
  readonly change: Change
  /** The case with the change in it. */
  readonly one: ScenarioCase
  /** The Node as each had it, with what was changed on it. */
  readonly before: NodeOfEach
  /** Whether both providers had initialized it: else the CPI has refused it, or waits, and Rollcall's rules alone count. */
  readonly ofBoth: boolean
}

function compareChanged(
  { change, one, uuid, before, ofBoth }: ChangedNode,
  scenario: Scenario,
  { cpi, rollcall, said }: FoundNode,
): ComparedNode {
  // What differed before, and is as it was, has been judged then.
  const old = differencesOf(before.cpi, before.rollcall)
  const differences = ofBoth
    ? differencesOf(cpi, rollcall).filter((each) => !old.some((known) => isDeepStrictEqual(known, each)))
    : []
  const broken = brokenByChange(rollcall, { scenario, one, uuid, change, before: before.rollcall, said })
  return { scenario, case: one, differences, broken, before }
}

async function readEach({ clusters }: CPIStage): Promise<NodesOfEach> {
  const [cpi, rollcall, said] = await Promise.all([
    readNodes(clusters.cpi),
    readNodes(clusters.rollcall),
    readConditions(clusters.rollcall),
  ])
  return {
    of: (name = '') => ({ cpi: cpi.get(name), rollcall: rollcall.get(name), said: said.get(name) ?? [] }),
  }
}
