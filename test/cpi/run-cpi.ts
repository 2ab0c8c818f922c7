/** Has the CPI do to each Node of a scenario what it does to it. */

import { until } from '../fixtures/until.ts'
import type { Cluster } from '../servers/cluster.ts'
import { startCPI } from '../world/cpi.ts'
import { isInitialized, isShutDown, type NodeObject, ready } from '../world/objects.ts'
import type { Program } from '../world/program.ts'
import { NO_LIFECYCLE, type ScenarioCase } from './scenario.ts'
import { type CPIStage, readNodes, type StagedScenario } from './stage.ts'

/** It reads two maps of its NodeManager without their lock (its instances.go), and Go ends a program for that. */
const ITS_OWN_CRASH = /fatal error: concurrent map/
/** One that crashes each time has another reason. */
const MAX_STARTS = 5
/** How often a kubelet here says that it lives, in milliseconds. */
const HEARTBEAT = 1000

/** It looks at all addresses, and for machines that are off or gone, a second after it has done so. */
const LOOKS = ['--node-status-update-frequency=1s', '--node-monitor-period=1s']
/** After so many it has heard of what happened before the first of them, and written what follows. */
const ROUNDS = 3

export interface RunningCPI {
  /** Resolves when it has looked at all Nodes and their machines again. */
  looksAgain(): Promise<void>
  stop(): Promise<unknown>
}

/** Runs the CPI until it has done what it does to each Node, and leaves it running. */
export async function runCPI(stage: CPIStage, staged: StagedScenario): Promise<RunningCPI> {
  let program = await startAndSettle(stage, staged)
  return {
    async looksAgain() {
      const enough = roundsOf(program) + ROUNDS
      await until('the CPI has looked at each Node again, or ended', () =>
        program.exit() === undefined ? roundsOf(program) >= enough : true,
      )
      if (program.exit() === undefined) return
      assertOwnCrash(program)
      // What the cases say of machines is no longer so.
      program = await startAndSettle(stage, { ...staged, cases: [] })
    },
    stop: () => program.stop(),
  }
}

async function startAndSettle(
  { clusters: { cpi: cluster } }: CPIStage,
  staged: StagedScenario,
): Promise<Program> {
  for (let start = 1; ; start++) {
    await using stack = new AsyncDisposableStack()
    const program = stack.use(
      await startCPI({
        cluster,
        dir: staged.dir,
        config: staged.config,
        // Without it, the CPI refuses two families.
        env: { ENABLE_ALPHA_DUAL_STACK: 'true' },
        args: [
          '-v=4',
          ...LOOKS,
          // By its defaults, dozens of Nodes would take seconds.
          '--kube-api-qps=1000',
          '--kube-api-burst=1000',
          ...staged.arguments,
        ],
      }),
    )
    const { isOver, waitsFor } = followCPI(program, cluster, staged)
    await until('the CPI has done what it does to each Node, or ended', isOver).catch((error: unknown) => {
      throw new Error(`the CPI is not done with ${waitsFor()}:\n${endOf(program)}`, { cause: error })
    })
    if (program.exit() === undefined) {
      stack.move()
      return program
    }
    if (start === MAX_STARTS) throw new Error(`the CPI has ended ${start} times:\n${endOf(program)}`)
    assertOwnCrash(program)
  }
}

/** As its Deployment starts it anew after that. What it had initialized stays as it is. */
function assertOwnCrash(program: Program): void {
  const exit = program.exit()
  if (!ITS_OWN_CRASH.test(program.output()))
    throw new Error(`the CPI ended with ${exit?.code ?? exit?.signal}:\n${endOf(program)}`)
  console.log('# the CPI ended with concurrent use of a map, and is started anew')
}

function endOf(program: Program): string {
  return program.output().slice(-4000)
}

function roundsOf({ stderr }: Program): number {
  return stderr.filter((line) => /Update \d+ nodes status took/.test(line)).length
}

/** Tells when the CPI is done with all Nodes, or has ended; and, for an error, with which of them it is not. */
function followCPI(
  program: Program,
  cluster: Cluster,
  { names, cases, arguments: args }: StagedScenario,
): { isOver(): Promise<boolean>; waitsFor(): string } {
  const caseOf = new Map(names.map((name, index) => [name, cases[index]]))
  let beat = performance.now()
  let addressesWritten: number | undefined
  let unsettled: readonly NodeObject[] = []
  let owed: readonly NodeObject[] = []
  return {
    async isOver() {
      if (program.exit() !== undefined) return true
      const nodes = [...(await readNodes(cluster)).values()]
      unsettled = nodes.filter((node) => !isSettled(node, program.stderr))
      owed = args.includes(NO_LIFECYCLE)
        ? []
        : nodes.filter(
            (node) =>
              owesTheLifecycle(node, caseOf.get(node.metadata.name)) && !cannotDecide(node, program.stderr),
          )
      if (unsettled.length === 0 && owed.length === 0) {
        if (!nodes.some(isInitialized)) return true
        addressesWritten ??= roundsOf(program) + 2
        return roundsOf(program) >= addressesWritten
      }
      if (performance.now() - beat > HEARTBEAT) {
        beat = performance.now()
        for (const node of unsettled) await sayAlive(cluster, node)
      }
      return false
    },
    waitsFor() {
      const told = (nodes: readonly NodeObject[]) =>
        nodes.map(({ metadata: { name } }) => `${name} (${JSON.stringify(caseOf.get(name))})`).join(', ')
      return `the first steps of ${told(unsettled) || 'none'}, the life cycle of ${told(owed) || 'none'}, and its rounds`
    },
  }
}

/** What the CPI takes for Nodes without a machine, once they are not Ready. */
const NOBODYS: readonly (string | undefined)[] = ['malformed', 'foreign']

/** Whether the CPI's other loop has yet to delete a Node, or to remove its taint. */
function owesTheLifecycle(object: NodeObject, { vm = {}, node = {} }: ScenarioCase = { name: '' }): boolean {
  const gone = (vm.gone === true && node.providerID === 'plain') || NOBODYS.includes(node.providerID)
  return ready(object) === 'True' ? isShutDown(object) && !gone : gone
}

/** Errors about one Node, one a second, after which the CPI is taken to fail each time. */
const FAILED = 5

/** Whether the CPI cannot find out that a machine is gone: an entry of `datacenters` that names none fails each such search. */
function cannotDecide({ metadata: { name } }: NodeObject, said: readonly string[]): boolean {
  return said.filter((line) => line.includes(`error checking if node ${name} exists:`)).length >= FAILED
}

/** Whether the CPI has initialized a Node, or failed to although it had looked for its machine. */
function isSettled(node: NodeObject, said: readonly string[]): boolean {
  const { name } = node.metadata
  const looked = new RegExp(`RegisterNode LEAVE: ${name}$|error discovering node ${name}:`)
  const known = said.findIndex((line) => looked.test(line))
  if (known < 0) return false
  if (isInitialized(node)) return true
  if (said.some((line) => line.includes(`Successfully initialized node ${name} with`))) return true
  // Before it knew the machine it may have failed for that.
  return said.slice(known).filter((line) => line.includes(`error syncing '${name}'`)).length >= 2
}

/**
 * What a kubelet does all the time. The CPI tries a Node again when it changes; by itself, where its first tries came
 * long before it knew the machine, only after minutes.
 */
async function sayAlive(cluster: Cluster, node: NodeObject): Promise<void> {
  const { name } = node.metadata
  const lastHeartbeatTime = new Date().toISOString()
  const { status } = await cluster.request(
    'PATCH',
    `/api/v1/nodes/${name}/status`,
    { status: { conditions: [{ type: 'Ready', status: ready(node) ?? 'True', lastHeartbeatTime }] } },
    { contentType: 'application/strategic-merge-patch+json' },
  )
  // The CPI may have deleted it since.
  if (status === 404) return
  if (status !== 200) throw new Error(`the kubelet of ${name} may not say that it lives (${status})`)
}
