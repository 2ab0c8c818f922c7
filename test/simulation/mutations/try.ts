import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import * as v from 'valibot'
import type { Mutation } from './mutation.ts'

const Trial = v.object({
  /** Steps until it was caught, or given up. */
  tried: v.number(),
  runs: v.number(),
  /** Why it could not be tried. */
  failure: v.optional(v.string()),
  /** The first run that noticed, the step and the time in it, and the promise that was broken. */
  caught: v.optional(
    v.object({
      seed: v.number(),
      step: v.number(),
      /** Milliseconds of the model's time. */
      time: v.number(),
      promise: v.string(),
      /** IDs of the faults, and how many had begun before the others were left out. */
      faults: v.array(v.string()),
      begun: v.number(),
    }),
  ),
})
export type Trial = v.InferOutput<typeof Trial>

export interface TrialOptions {
  /** The first. */
  readonly seed: number
  /** At most so many, in whole runs. */
  readonly steps: number
  /** Of each run, these faults alone, by their IDs. */
  readonly only?: readonly string[]
  /** Whether to look for the fewest faults by which it is noticed. */
  readonly shrinks?: boolean
}

/** Runs the simulation on code with this mutation. */
export async function tryMutation({ edits, about }: Mutation, options: TrialOptions): Promise<Trial> {
  const workerData = { edits, about, ...options }
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData })
  try {
    const [message] = await once(worker, 'message')
    return v.parse(Trial, message)
  } catch (error) {
    // The code has changed: the mutation is to be written anew.
    return { tried: 0, runs: 0, failure: error instanceof Error ? error.message : String(error) }
  } finally {
    await worker.terminate()
  }
}
