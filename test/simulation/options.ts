import { parseArgs } from 'node:util'
import { recipesFor } from './faults/recipes.ts'

export interface SimulationArguments {
  /** At least so many, in whole runs. */
  readonly steps: number
  /** Of the first run. */
  readonly seed: number
  /** Whether that one run alone is wanted, to look at it. */
  readonly single: boolean
  /** Its faults by ID, all others being left out; undefined for all. */
  readonly faults: ReadonlySet<string> | undefined
  /** Kinds of faults: scenes about one of these alone; undefined for all. */
  readonly about: ReadonlySet<string> | undefined
  /** Whether to try the mutations instead. */
  readonly mutations: boolean
  /** Those alone whose names contain this. */
  readonly only: string
}

export type SimulationCommandLine =
  | { readonly kind: 'options'; readonly options: SimulationArguments }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly message: string }

export const HELP = `usage: npm run simulate -- [options]

Drives the controller's real code over a model of vCenters, an API server, agents, kubelets, two replicas and
their clocks, while all of them fail in any order, and looks after each step whether a promise is broken.

  --steps N     how many, in whole runs of one seed each (default 1,000,000)
  --seed N      of the first run (default 1); without --steps, that one run alone, with its last steps
  --faults IDS  of that one run, these faults alone, as a broken promise names them; none for no fault at all
  --about KINDS with commas: of the scenes those alone in which one of these kinds of faults has its part
  --mutations   take one precondition after the other out of the code, and show which run notices; --steps is
                then the most to be tried for each (default 10,000,000)
  --only TEXT   of the mutations, those alone whose names contain this
  --help        print this text
`

const STEPS = 1_000_000
const TOLD = new Set(recipesFor(true).flatMap(({ faults }) => faults.map(({ kind }) => kind)))
/** Some preconditions are needed in one of a hundred runs. */
const MUTATION_STEPS = 10_000_000

/** Reads the command line. What is wrong comes back as one sentence. */
export function parseOptions(args: readonly string[]): SimulationCommandLine {
  let values: ReturnType<typeof parse>
  try {
    values = parse(args)
  } catch (error) {
    // Thrown by parseArgs alone.
    const message = error instanceof Error ? error.message : String(error)
    return { kind: 'wrong', message: `${message}; --help lists the options` }
  }
  if (values.help) return { kind: 'help' }
  const single = values.seed !== undefined && values.steps === undefined && !values.mutations
  const [steps, seed] = [
    Number(values.steps ?? (values.mutations ? MUTATION_STEPS : STEPS)),
    Number(values.seed ?? 1),
  ]
  for (const [name, value] of [
    ['--steps', steps],
    ['--seed', seed],
  ] as const) {
    if (!Number.isSafeInteger(value) || value < 1)
      return { kind: 'wrong', message: `${name}: expected a whole number from 1 on` }
  }
  if (values.faults !== undefined && !single)
    return { kind: 'wrong', message: '--faults: expected with --seed, and without --steps and --mutations' }
  const faults = values.faults === undefined ? undefined : new Set(values.faults.split(','))
  const about = values.about === undefined ? undefined : new Set(values.about.split(','))
  const unknown = [...(about ?? [])].filter((kind) => !TOLD.has(kind))
  if (unknown.length > 0)
    return {
      kind: 'wrong',
      message: `--about: no scene is about ${unknown.join(', ')}; expected some of ${[...TOLD].toSorted().join(', ')}`,
    }
  const { mutations, only } = values
  return { kind: 'options', options: { steps, seed, single, faults, about, mutations, only } }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      steps: { type: 'string' },
      seed: { type: 'string' },
      about: { type: 'string' },
      faults: { type: 'string' },
      mutations: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  }).values
}
