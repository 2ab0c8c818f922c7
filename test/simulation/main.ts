/** `npm run simulate`: the controller's real code in a world that fails, by seeds. */
import { MUTATIONS } from './mutations/all.ts'
import { tryMutation } from './mutations/try.ts'
import { isNoticedInScene } from './mutations/try-scene.ts'
import { HELP, parseOptions, type SimulationArguments } from './options.ts'
import { brokenLines, sceneLine, seriesLines, trialLine } from './print.ts'
import { simulateSeries } from './series.ts'

const MOST_BROKEN = 5
/** Steps from one line of progress to the next: a few minutes. */
const PROGRESS = 500_000

async function simulateAll({ seed, steps, single, faults, about }: SimulationArguments): Promise<number> {
  const start = performance.now()
  let told = 0
  const series = await simulateSeries({
    seed,
    steps: single ? 1 : steps,
    mostBroken: MOST_BROKEN,
    only: faults,
    about,
    shrinks: faults === undefined,
    onBroken: (broken) => print(brokenLines(broken, about)),
    onRun(done) {
      if (done < told + PROGRESS) return
      told = done
      console.error(`${done.toLocaleString('en')} of ${steps.toLocaleString('en')} steps`)
    },
  })
  print(seriesLines(series, seed, (performance.now() - start) / 1000))
  return series.broken.length === 0 ? 0 : 1
}

/** All on one thread after the other; an exit code of 1 where one is not noticed. */
async function tryMutations({ seed, steps, only }: SimulationArguments): Promise<number> {
  const mutations = MUTATIONS.filter(({ name }) => name.includes(only))
  let missed = 0
  for (const mutation of mutations) {
    if (mutation.inSceneAlone) {
      const isNoticed = await isNoticedInScene(mutation)
      if (!isNoticed) missed++
      print([sceneLine(mutation, isNoticed)])
      continue
    }
    const trial = await tryMutation(mutation, { seed, steps })
    if (trial.caught === undefined) missed++
    print([trialLine(mutation, trial)])
  }
  print(['', `${mutations.length - missed} of ${mutations.length} mutations were noticed`])
  return missed === 0 && mutations.length > 0 ? 0 : 1
}

function print(lines: readonly string[]): void {
  for (const line of lines) console.log(line)
}

const commandLine = parseOptions(process.argv.slice(2))
if (commandLine.kind === 'help') console.log(HELP)
else if (commandLine.kind === 'wrong') {
  console.error(commandLine.message)
  process.exitCode = 2
} else {
  const { options } = commandLine
  process.exitCode = await (options.mutations ? tryMutations(options) : simulateAll(options))
}
