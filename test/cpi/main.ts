/** `npm run differential`: the vSphere CPI and Rollcall on the same machines, by the written set and by seeds. */
import { parseArgs } from 'node:util'
import { createRandom } from '../simulation/random.ts'
import { type ComparedNode, judge } from './compare-nodes.ts'
import { compareScenario } from './compare-scenario.ts'
import { generateScenario } from './generate.ts'
import type { Scenario } from './scenario.ts'
import { openCPIStage } from './stage.ts'
import { WRITTEN } from './written.ts'

const HELP = `npm run differential -- [--seeds N] [--seed S] [--only TEXT]

Lets the vSphere CPI and Rollcall initialize Nodes of the same machines, lets machines and Nodes change after that, and
compares the Nodes each time: those of the written set, then
N scenarios (20 by default) made up by the seeds S, S + 1, ... (1 by default). --seeds 0 is the written set alone, --only
takes the scenarios whose name has this text. The exit code is 1 where they differ and docs/differences.md does not say why.`

interface Options {
  readonly seeds: number
  readonly seed: number
  readonly only: string
}

async function main({ seeds, seed, only }: Options): Promise<number> {
  const made = Array.from({ length: seeds }, (_, i) =>
    generateScenario(`seed ${seed + i}`, createRandom(seed + i)),
  )
  const scenarios = [...WRITTEN, ...made].filter(({ name }) => name.includes(only))
  await using stage = await openCPIStage()
  const all: ComparedNode[] = []
  for (const [serial, scenario] of scenarios.entries()) {
    const compared = await compareScenario(stage, scenario, serial)
    console.log(line(scenario, compared))
    for (const unexplained of judge(compared).unexplained) console.log(`  UNEXPLAINED ${unexplained}`)
    all.push(...compared)
  }
  const { agreed, explained } = judge(all)
  const unexplained = all.length - agreed - explained
  const changed = all.filter(({ before }) => before !== undefined).length
  console.log(
    `\n${all.length - changed} Nodes and ${changed} changes: agreed ${agreed}, explained ${explained}, unexplained ${unexplained}`,
  )
  return unexplained === 0 && all.length > 0 ? 0 : 1
}

function line({ name }: Scenario, compared: readonly ComparedNode[]): string {
  const { agreed, explained } = judge(compared)
  const changed = compared.filter(({ before }) => before !== undefined).length
  return `${name}: ${compared.length - changed} Nodes and ${changed} changes, ${agreed} agreed, ${explained} explained`
}

function readOptions(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      seeds: { type: 'string', default: '20' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string', default: '' },
    },
  })
  const [seeds, seed] = [Number(values.seeds), Number(values.seed)]
  return [seeds, seed].every(Number.isSafeInteger) ? { seeds, seed, only: values.only } : undefined
}

let options: Options | undefined
try {
  options = readOptions(process.argv.slice(2))
} catch {
  // Of an option that nobody knows, the help says as much.
}
if (options !== undefined) process.exitCode = await main(options)
else {
  console.error(HELP)
  process.exitCode = 2
}
