import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { binary } from '../../build/binaries.ts'
import { type ApiProxy, startApiProxy } from '../world/api-proxy.ts'
import { type Controller, type ControllerProcessOptions, startController } from '../world/controller.ts'
import { type Sample, takeSample } from './memory.ts'

/** One of the two, over all its processes. */
export interface Replica {
  readonly identity: string
  /** Between it and the API server. */
  readonly line: ApiProxy
  /** Its process now. */
  readonly controller: Controller
  /** Of its process now. */
  readonly samples: readonly Sample[]
  readonly restarts: number
  leads(): Promise<boolean>
  /** SIGKILL, and another process of the same name a while later, as the kubelet would start it. */
  kill(pause: number): Promise<void>
  /** SIGSTOP, and SIGCONT when the pause is over. */
  freeze(pause: number): Promise<void>
  /** Lines of its logs that contain this. */
  said(text: string): readonly string[]
}

export interface Replicas extends AsyncDisposable {
  /** Lives from beginning to end, so that its memory tells something: it may be frozen or cut off, never killed. */
  readonly survivor: Replica
  readonly other: Replica
  leader(): Promise<Replica | undefined>
  /** Looks at what both processes hold. */
  sample(at: number): Promise<void>
}

/** @param patient repeats what fails while the API server is away */
export async function startReplicas(
  options: Omit<ControllerProcessOptions, 'identity' | 'until'>,
  patient: <T>(what: string, work: () => Promise<T>) => Promise<T>,
): Promise<Replicas> {
  const stack = new AsyncDisposableStack()
  // A copy: the sources may change in an hour, and every process is to run the same.
  const command = join(options.dir, 'rollcall-controller')
  await copyFile(await binary('rollcall-controller'), command)

  async function open(identity: string, until: 'leading' | 'answering') {
    const line = await startApiProxy(options.cluster.url)
    stack.defer(() => line.close())
    const start = (until: 'leading' | 'answering') =>
      startController({
        ...options,
        command,
        cluster: { ...options.cluster, url: line.url },
        identity,
        until,
      })
    const state = { controller: await start(until), samples: [] as Sample[], restarts: 0, frozen: false }
    let lost: string[] = []
    stack.defer(async () => {
      state.controller.kill('SIGCONT')
      await state.controller.stop()
    })
    const replica: Replica = {
      identity,
      line,
      get controller() {
        return state.controller
      },
      get samples() {
        return state.samples
      },
      get restarts() {
        return state.restarts
      },
      async leads() {
        if (state.frozen) return false
        try {
          const { url } = state.controller
          const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(3_000) })
          // A leader that has problems says those.
          return !(await answer.text()).startsWith('standby')
        } catch {
          // It is being restarted, or hangs.
          return false
        }
      },
      async kill(pause) {
        lost = [...lost, ...state.controller.stderr].slice(-50_000)
        state.controller.kill('SIGKILL')
        await state.controller.ended
        await sleep(pause)
        state.controller = await patient(`${identity} starts`, () => start('answering'))
        state.samples = []
        state.restarts++
      },
      async freeze(pause) {
        state.frozen = true
        state.controller.kill('SIGSTOP')
        await sleep(pause)
        state.controller.kill('SIGCONT')
        state.frozen = false
      },
      said: (text) => [...lost, ...state.controller.stderr].filter((line) => line.includes(text)),
    }
    return {
      replica,
      async sample(at: number) {
        const { controller, samples } = state
        const sample = await takeSample(controller.pid, at, await replica.leads())
        if (sample !== undefined) samples.push(sample)
      },
    }
  }

  try {
    const both = [await open('rollcall-0', 'leading'), await open('rollcall-1', 'answering')] as const
    const [survivor, other] = both.map(({ replica }) => replica)
    if (survivor === undefined || other === undefined) throw new Error('there are two replicas')
    return {
      survivor,
      other,
      async leader() {
        if (await survivor.leads()) return survivor
        return (await other.leads()) ? other : undefined
      },
      async sample(at) {
        await Promise.all(both.map((each) => each.sample(at)))
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}
