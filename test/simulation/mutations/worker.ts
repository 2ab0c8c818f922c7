/** A thread of its own for each mutation: its modules are read with the edits made, before anything runs. */
import { parentPort, workerData } from 'node:worker_threads'
import * as v from 'valibot'
import { editModules } from './edit-modules.ts'

const Work = v.object({
  edits: v.array(v.object({ file: v.string(), text: v.string(), becomes: v.string() })),
  seed: v.number(),
  steps: v.number(),
  only: v.optional(v.array(v.string())),
  about: v.optional(v.array(v.string())),
  shrinks: v.optional(v.boolean(), false),
})

const { edits, seed, steps, only, about, shrinks } = v.parse(Work, workerData)
const made = editModules(edits)

const { simulateSeries } = await import('../series.ts')
for (const { file } of edits) if (!made.has(file)) throw new Error(`${file} is not part of the simulation`)
const {
  broken,
  steps: tried,
  runs,
} = await simulateSeries({
  seed,
  steps,
  mostBroken: 1,
  only: only && new Set(only),
  about: about && new Set(about),
  shrinks,
})
const [first] = broken
parentPort?.postMessage({
  tried,
  runs,
  ...(first === undefined
    ? {}
    : {
        caught: {
          seed: first.least.seed,
          step: first.least.steps,
          time: first.least.time,
          promise: first.least.violation?.promise ?? '',
          faults: first.least.faults.map(({ id }) => id),
          begun: first.whole.faults.length,
        },
      }),
})
