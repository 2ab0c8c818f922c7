/** What the parts of the demo have in common. */
import { execFile } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { serverBinary } from '../servers/build.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Controller } from '../world/controller.ts'
import { eventsOf, type NodeObject, type ReportObject } from '../world/objects.ts'
import type { Program } from '../world/program.ts'
import type { Stage } from '../world/stage.ts'
import type { ExpectedNode, Snapshot } from './check.ts'
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

/** Milliseconds. What is minutes in production is seconds here, by configuration alone. */
export const ABSENT_FOR = 3_000
export const CONFIRMATIONS = 3
export const FORGER = 'forger'

/** What was waited for did not come. */
class NotShown extends Error {
  override name = 'NotShown'
}

export function startController(stage: Stage, identity: string): Promise<Controller> {
  const lifecycle = { absentFor: `${ABSENT_FOR / 1000}s`, confirmations: CONFIRMATIONS, leaderAge: '2s' }
  return stage.controller({ identity, datacenters: ['DC0'], lifecycle })
}

/** Runs one part; resolves with what is not as it should be, or was waited for in vain. */
export async function shown(part: () => Promise<string[]>): Promise<string[]> {
  try {
    return await part()
  } catch (error) {
    if (error instanceof NotShown) return [error.message]
    throw error
  }
}

/**
 * Looks until there is an answer other than undefined and false. Fails where none comes in time, or one of the programs
 * has ended: neither the controller nor an agent has a reason to, before it is asked.
 *
 * @param waits whether it says what is waited for
 */
export async function seen<T>(
  { controller, agents, signal, tell }: Show,
  what: string,
  found: (elapsed: number) => T | undefined | false,
  { within = 60_000, waits = true } = {},
): Promise<{ readonly value: T; readonly after: number }> {
  const start = performance.now()
  for (;;) {
    const after = performance.now() - start
    const value = found(after)
    if (value !== undefined && value !== false) return { value, after }
    if (waits) tell.wait(what)
    const agentsOf = [...agents].map(([name, agent]) => [`agent of ${name}`, agent] as const)
    for (const [name, program] of [['controller', controller] as const, ...agentsOf]) {
      const exit = program.exit()
      if (exit === undefined) continue
      const how = exit.signal ?? `code ${exit.code}`
      throw new NotShown(`the ${name} ended with ${how} while the demo waited until ${what}`)
    }
    if (after > within) throw new NotShown(`gave up after ${within / 1000} s waiting until ${what}`)
    await sleep(50, undefined, { signal })
  }
}

export async function look({ cluster }: Stage): Promise<Snapshot> {
  const list = async <T extends NodeObject | ReportObject>(path: string) => {
    const { status, body } = await cluster.request<{ items: T[] }>('GET', path)
    if (status !== 200) throw new Error(`the API server does not list ${path}: ${status}`)
    return new Map(body.items.map((item) => [item.metadata.name, item]))
  }
  return {
    nodes: await list<NodeObject>('/api/v1/nodes'),
    reports: await list<ReportObject>('/apis/rollcall.dev/v1alpha1/nodereports'),
  }
}

/** Waits for an Event, which comes a moment after what it speaks of. */
export async function eventOf(show: Show, node: string, wanted: string): Promise<string> {
  const event = () =>
    eventsOf(show.stage.events, node).find(({ type, reason }) => `${type} ${reason}` === wanted)
  const { value } = await seen(show, `Node ${node} has the Event ${wanted}`, event, { waits: false })
  return `Event ${value.reason}: ${value.message}`
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
