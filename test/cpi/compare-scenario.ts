/** Lets both providers work on a scenario, each on its own copy of the Nodes, and compares what they make of it. */

import { isDeepStrictEqual } from 'node:util'
import { isInitialized, type NodeObject } from '../world/objects.ts'
import { afterChange, makeChange, withChange } from './changes.ts'
import { type ComparedNode, differencesOf, judge, type NodeOfEach } from './compare-nodes.ts'
import { brokenByChange, brokenRules } from './rules.ts'
import { type RunningCPI, runCPI } from './run-cpi.ts'
import type { Change, Scenario } from './scenario.ts'
import { type CPIStage, readNodes, runRollcall, type StagedScenario, setUp } from './stage.ts'

/** Within this time Rollcall has dealt with a change that is pushed to it, also on a machine that is busy; milliseconds. */
const DEALS_WITH_IT = 20_000

/** Lets both providers initialize the Nodes, and then deal with the changes of those that both have initialized. */
export async function compareScenario(
  stage: CPIStage,
  scenario: Scenario,
  serial: number,
): Promise<readonly ComparedNode[]> {
  await using staged = await setUp(stage, scenario, serial)
  const [cpi, rollcall] = await Promise.allSettled([
    runCPI(stage, staged),
    runRollcall(stage, staged, stage.clusters.rollcall),
  ])
  try {
    if (cpi.status === 'rejected') throw cpi.reason
    if (rollcall.status === 'rejected') throw rollcall.reason
    const nodes = await readEach(stage)
    const first = scenario.cases.map((each, index): ComparedNode => {
      const { cpi: theirs, rollcall: ours } = nodes.of(staged.names[index])
      const isNew = each.node?.untainted !== true
      const broken =
        isNew && ours !== undefined && isInitialized(ours)
          ? brokenRules(ours, { scenario, one: each, uuid: staged.machines[index]?.vm.uuid ?? '' })
          : []
      return { scenario, case: each, differences: differencesOf(theirs, ours), broken }
    })
    return [...first, ...(await compareChanges({ stage, staged, scenario, cpi: cpi.value }, nodes))]
  } finally {
    for (const each of [cpi, rollcall]) if (each.status === 'fulfilled') await each.value.stop()
  }
}

interface Running {
  readonly stage: CPIStage
  readonly staged: StagedScenario
  readonly scenario: Scenario
  readonly cpi: RunningCPI
}

/** Undefined where one of them has no such Node. */
type FoundNode = { readonly [provider in keyof NodeOfEach]: NodeObject | undefined }

interface NodesOfEach {
  of(name: string | undefined): FoundNode
}

/** Makes the changes, the first of all Nodes at once, then the second; says of each Node what has come of each. */
async function compareChanges(
  { stage, staged, scenario, cpi }: Running,
  initialized: NodesOfEach,
): Promise<readonly ComparedNode[]> {
  const all: ComparedNode[] = []
  let { cases } = scenario
  let nodes = initialized
  const steps = Math.max(...cases.map(({ later = [] }) => later.length))
  for (let step = 0; step < steps; step++) {
    const changed = new Map<number, NodeOfEach & { readonly change: Change }>()
    const next = [...cases]
    for (const [index, one] of cases.entries()) {
      const change = one.later?.[step]
      const machine = staged.machines[index]
      const before = ofBoth(nodes.of(machine?.name))
      if (change === undefined || machine === undefined || machine.gone || before === undefined) continue
      await makeChange(change, machine, stage.clusters)
      changed.set(index, {
        cpi: withChange(before.cpi, change),
        rollcall: withChange(before.rollcall, change),
        change,
      })
      next[index] = afterChange(one, change, before.rollcall)
    }
    if (changed.size === 0) return all
    cases = next
    await cpi.looksAgain()

    const compare = async (): Promise<readonly ComparedNode[]> => {
      nodes = await readEach(stage)
      const after = { ...scenario, cases }
      return [...changed].flatMap(([index, { change, ...before }]) => {
        const one = cases[index]
        const { cpi: theirs, rollcall: ours } = nodes.of(staged.names[index])
        // What differed before, and is as it was, has been judged then.
        const old = differencesOf(before.cpi, before.rollcall)
        const differences = differencesOf(theirs, ours).filter(
          (each) => !old.some((known) => isDeepStrictEqual(known, each)),
        )
        if (one === undefined) return []
        const broken =
          ours === undefined
            ? []
            : brokenByChange(ours, { scenario: after, one, change, before: before.rollcall })
        return [{ scenario: after, case: one, differences, broken, before }]
      })
    }
    const start = performance.now()
    let compared = await compare()
    while (judge(compared).unexplained.length > 0 && performance.now() - start < DEALS_WITH_IT) {
      await cpi.looksAgain()
      compared = await compare()
    }
    all.push(...compared)
  }
  return all
}

function ofBoth({ cpi, rollcall }: FoundNode): NodeOfEach | undefined {
  if (cpi === undefined || rollcall === undefined) return undefined
  return isInitialized(cpi) && isInitialized(rollcall) ? { cpi, rollcall } : undefined
}

async function readEach({ clusters }: CPIStage): Promise<NodesOfEach> {
  const [cpi, rollcall] = await Promise.all([readNodes(clusters.cpi), readNodes(clusters.rollcall)])
  return { of: (name = '') => ({ cpi: cpi.get(name), rollcall: rollcall.get(name) }) }
}
