/** `npm run differential`: the vSphere CPI and Rollcall on the same machines, by the written set and by seeds. */
import { parseArgs } from 'node:util'
import { createRandom } from '../simulation/random.ts'
import { openBed } from './bed.ts'
import { type Compared, compareScenario } from './compare.ts'
import { generateScenario } from './generate.ts'
import { judge } from './judge.ts'
import type { Scenario } from './scenario.ts'
import { WRITTEN } from './written.ts'

const HELP = `npm run differential -- [--seeds N] [--seed S]

Lets the vSphere CPI and Rollcall initialise Nodes of the same machines, and compares them: those of the written set, then
N scenarios (20 by default) made up by the seeds S, S + 1, ... (1 by default). --seeds 0 is the written set alone. The exit
code is 1 where they differ and docs/differences.md does not say why.`

async function main(seeds: number, first: number): Promise<number> {
  const made = Array.from({ length: seeds }, (_, i) =>
    generateScenario(`seed ${first + i}`, createRandom(first + i)),
  )
  await using bed = await openBed()
  const all: Compared[] = []
  for (const [serial, scenario] of [...WRITTEN, ...made].entries()) {
    const compared = await compareScenario(bed, scenario, serial)
    console.log(line(scenario, compared))
    for (const unexplained of judge(compared).unexplained) console.log(`  UNEXPLAINED ${unexplained}`)
    all.push(...compared)
  }
  const { agreed, explained, unexplained } = judge(all)
  console.log(
    `\n${all.length} Nodes: agreed ${agreed}, explained ${explained}, unexplained ${all.length - agreed - explained}`,
  )
  return unexplained.length === 0 ? 0 : 1
}

function line({ name }: Scenario, compared: readonly Compared[]): string {
  const { agreed, explained } = judge(compared)
  return `${name}: ${compared.length} Nodes, ${agreed} agreed, ${explained} explained`
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new RangeError(`--${name} is a whole number`)
  return Number(text)
}

try {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '20' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) console.log(HELP)
  else process.exitCode = await main(wholeNumber('seeds', values.seeds), wholeNumber('seed', values.seed))
} catch (error) {
  if (!(error instanceof RangeError || (error instanceof TypeError && 'code' in error))) throw error
  console.error(`${error.message}\n\n${HELP}`)
  process.exitCode = 2
}
