/** The vSphere CPI itself against Rollcall: the written set, and the hand-over from one to the other and back. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import type { NodeObject } from '../world/objects.ts'
import { type ComparedNode, judge } from './compare-nodes.ts'
import { compareScenario } from './compare-scenario.ts'
import { ON_NODES, PAGE, withTables } from './differences.ts'
import { runCPI } from './run-cpi.ts'
import { openCPIStage, readNodes, runRollcall, setUp } from './stage.ts'
import { HANDED_OVER, WRITTEN } from './written.ts'

const stage = await openCPIStage()
t.teardown(() => stage[Symbol.asyncDispose]())

await t.test('both make the same of each Node, but for the listed differences', async (t) => {
  const all: ComparedNode[] = []
  for (const [serial, scenario] of WRITTEN.entries())
    all.push(...(await compareScenario(stage, scenario, serial)))
  const { agreed, unexplained, shown } = judge(all)
  t.strictSame(unexplained, [])
  for (const row of ON_NODES) t.ok(row.byChance === true || shown.has(row), `a case shows: ${row.what}`)
  t.ok(agreed > all.length / 3, `${agreed} of ${all.length} agree`)
})

await t.test('each difference is told in the docs', async (t) => {
  const page = readFileSync(PAGE, 'utf8')
  t.equal(withTables(page), page, 'npm run generate')
})

await t.test('from the CPI to Rollcall and back, no Node moves', async (t) => {
  await using staged = await setUp(stage, HANDED_OVER, WRITTEN.length)
  const cluster = stage.clusters.cpi
  await (await runCPI(stage, staged)).stop()
  const initialized = await readNodes(cluster)
  for (const node of initialized.values()) t.ok(node.spec.providerID, `${node.metadata.name} is initialized`)

  await (await runRollcall(stage, staged, cluster)).stop()
  const taken = await readNodes(cluster)
  for (const [name, before] of initialized) {
    const after = taken.get(name)
    t.equal(after?.metadata.labels[LABEL_IDENTITY_LEVEL], 'asserted', `Rollcall has taken ${name} over`)
    t.strictSame(after && withoutLevel(after), withoutLevel(before), name)
  }

  await (await runCPI(stage, staged)).stop()
  const returned = await readNodes(cluster)
  for (const [name, before] of taken) t.strictSame(whole(returned.get(name)), whole(before), `${name}, back`)
})

function whole(node: NodeObject | undefined) {
  const { labels, annotations } = node?.metadata ?? {}
  return { labels, annotations, spec: node?.spec, addresses: node?.status.addresses }
}

function withoutLevel(node: NodeObject) {
  const { [LABEL_IDENTITY_LEVEL]: _, ...labels } = node.metadata.labels
  return { ...whole(node), labels }
}
