/** What the parts of the demo have in common. */
import { execFile } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { serverBinary } from '../servers/build.ts'
import type { Cluster } from '../servers/cluster.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Controller } from '../world/controller.ts'
import { eventsOf, type NodeObject, type ReportObject } from '../world/objects.ts'
import type { Program } from '../world/program.ts'
import type { Stage } from '../world/stage.ts'
import { ABSENT_FOR, type ExpectedNode, type Snapshot } from './check.ts'
import type { DemoScreen, Narrator } from './screen.ts'

export interface DemoOptions {
  /** How many VMs become Nodes. */
  readonly nodes: number
  /** Whether everything goes on running at the end, to be looked at. */
  readonly keep: boolean
  readonly screen: DemoScreen
  readonly env: NodeJS.ProcessEnv
  /** Ends the demo at once, or the looking around of `keep`. */
  readonly signal: AbortSignal
}

/** All that plays a part. */
export interface Show extends DemoOptions {
  readonly stage: Stage
  readonly tell: Narrator
  readonly cast: readonly ExpectedNode[]
  /** The first of the cast: the forger says that it is its VM, and runs in one of its own. */
  readonly victim: ExpectedNode
  readonly forgersVM: VcsimVM
  controller: Controller
  /** Those that should run, by Node. */
  readonly agents: Map<string, Program>
}

export const LIFECYCLE = { absentFor: `${ABSENT_FOR / 1000}s`, confirmations: 3, leaderAge: '2s' } as const
export const FORGER = 'forger'

/** What was waited for did not come. */
class NotShown extends Error {
  override name = 'NotShown'
}

export function startController(stage: Stage, identity: string): Promise<Controller> {
  return stage.controller({ identity, datacenters: ['DC0'], lifecycle: LIFECYCLE })
}

/** Runs one part; resolves with what was waited for in vain. */
export async function shown(part: () => Promise<string[]>): Promise<string[]> {
  try {
    return await part()
  } catch (error) {
    if (error instanceof NotShown) return [error.message]
    throw error
  }
}

/**
 * Looks until there is an answer other than undefined. Fails where none comes in time, or one of the programs has ended:
 * neither the controller nor an agent has a reason to, before it is asked.
 */
export async function seen<T>(
  { controller, agents, signal }: Show,
  what: string,
  found: (elapsed: number) => T | undefined,
  within = 60_000,
): Promise<{ readonly value: T; readonly after: number }> {
  const start = performance.now()
  for (;;) {
    const after = performance.now() - start
    const value = found(after)
    if (value !== undefined) return { value, after }
    const programs = [
      ['controller', controller],
      ...[...agents].map(([name, agent]) => [`agent of ${name}`, agent]),
    ]
    for (const [name, program] of programs as [string, Program][]) {
      const exit = program.exit()
      if (exit)
        throw new NotShown(
          `the ${name} ended with ${exit.signal ?? `code ${exit.code}`} while the demo waited until ${what}`,
        )
    }
    if (after > within) throw new NotShown(`gave up after ${within / 1000} s waiting until ${what}`)
    await sleep(50, undefined, { signal })
  }
}

/** Waits as {@link seen}, and says what for. */
export function awaited<T>(show: Show, what: string, found: (elapsed: number) => T | undefined) {
  return seen(show, what, (elapsed) => {
    const value = found(elapsed)
    if (value === undefined) show.tell.wait(what)
    return value
  })
}

export async function look({ request }: Pick<Cluster, 'request'>): Promise<Snapshot> {
  const list = async <T extends { readonly metadata: { readonly name: string } }>(path: string) => {
    const { status, body } = await request<{ items: T[] }>('GET', path)
    if (status !== 200) throw new Error(`the API server does not list ${path}: ${status}`)
    return new Map(body.items.map((item) => [item.metadata.name, item]))
  }
  return {
    nodes: await list<NodeObject>('/api/v1/nodes'),
    reports: await list<ReportObject>('/apis/rollcall.dev/v1alpha1/nodereports'),
  }
}

/** Waits for an Event of this reason, which comes a moment after what it speaks of, if at all. */
export async function eventOf({ stage, signal }: Show, node: string, reason: string): Promise<string[]> {
  const found = () => eventsOf(stage.events, node).filter((event) => event.reason === reason)
  const start = performance.now()
  while (found().length === 0 && performance.now() - start < 60_000) await sleep(50, undefined, { signal })
  return found().map(({ message }) => `Event ${reason}: ${message}`)
}

/** Prints a shell's command with kubectl in it and what it answers, as someone at that shell would see it. */
export async function kubectl({ stage, screen, env, signal }: Show, command: string): Promise<void> {
  const folder = dirname(await serverBinary('kubectl', env))
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], {
    // Its cache of what the API server has goes into the home folder.
    env: {
      PATH: `${folder}${delimiter}${env.PATH ?? ''}`,
      KUBECONFIG: stage.cluster.adminKubeconfig,
      HOME: stage.dir,
    },
    signal,
  })
  screen.print('', screen.style('bold', `$ ${command}`), stdout.trimEnd())
}
