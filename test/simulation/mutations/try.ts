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
  /** The first run that noticed, the step in it, and the promise that was broken. */
  caught: v.optional(v.object({ seed: v.number(), step: v.number(), promise: v.string() })),
})
export type Trial = v.InferOutput<typeof Trial>

/** Runs the simulation on code with this mutation, from this seed on, for so many steps at most. */
export async function tryMutation({ edits }: Mutation, seed: number, steps: number): Promise<Trial> {
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: { edits, seed, steps } })
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
