/** Has the CPI do to each Node of a scenario what it does to it. */

import { until } from '../fixtures/until.ts'
import type { Cluster } from '../servers/cluster.ts'
import { startCPI } from '../world/cpi.ts'
import { isInitialized, isShutDown, type NodeObject } from '../world/objects.ts'
import type { Program } from '../world/program.ts'
import type { ScenarioCase } from './scenario.ts'
import { type CPIStage, readNodes, type StagedScenario } from './stage.ts'

/** It reads two maps of its NodeManager without their lock (its instances.go), and Go ends a program for that. */
const ITS_OWN_CRASH = /fatal error: concurrent map/
/** One that crashes each time has another reason. */
const MAX_STARTS = 5
/** How often a kubelet here says that it lives, in milliseconds. */
const HEARTBEAT = 1000

/** Runs the CPI until it has done what it does to each Node, and leaves it running. */
export async function runCPI(
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
          '--node-status-update-frequency=1s',
          // By its defaults, dozens of Nodes would take seconds.
          '--kube-api-qps=1000',
          '--kube-api-burst=1000',
        ],
      }),
    )
    await until(
      'the CPI has done what it does to each Node, or ended',
      hasEndedOrSettled(program, cluster, staged),
    )
    const exit = program.exit()
    if (exit === undefined) {
      stack.move()
      return program
    }
    const output = program.output()
    if (!ITS_OWN_CRASH.test(output) || start === MAX_STARTS)
      throw new Error(`the CPI ended with ${exit.code ?? exit.signal}:\n${output.slice(-4000)}`)
    // As its Deployment starts it anew. What it had initialized stays as it is.
    console.log('# the CPI ended with concurrent use of a map, and is started anew')
  }
}

function hasEndedOrSettled(
  program: Program,
  cluster: Cluster,
  { names, cases }: StagedScenario,
): () => Promise<boolean> {
  const caseOf = new Map(names.map((name, index) => [name, cases[index]]))
  let beat = performance.now()
  let addressesWritten: number | undefined
  const rounds = () => program.stderr.filter((line) => /Update \d+ nodes status took/.test(line)).length
  return async () => {
    if (program.exit() !== undefined) return true
    const nodes = [...(await readNodes(cluster)).values()]
    const unsettled = nodes.filter((node) => !isSettled(node, program.stderr))
    const owed = nodes.some((node) => owesTheLifecycle(node, caseOf.get(node.metadata.name)))
    if (unsettled.length === 0 && !owed) {
      if (!nodes.some(isInitialized)) return true
      addressesWritten ??= rounds() + 2
      return rounds() >= addressesWritten
    }
    if (performance.now() - beat > HEARTBEAT) {
      beat = performance.now()
      for (const node of unsettled) await sayAlive(cluster, node)
    }
    return false
  }
}

/** What the CPI takes for Nodes without a machine, once they are not Ready. */
const NOBODYS: readonly (string | undefined)[] = ['malformed', 'foreign']

/** Whether the CPI's other loop, which comes every five seconds, has yet to delete a Node or to remove its taint. */
function owesTheLifecycle(object: NodeObject, { vm = {}, node = {} }: ScenarioCase = { name: '' }): boolean {
  const gone = (vm.gone === true && node.providerID === 'plain') || NOBODYS.includes(node.providerID)
  if (node.ready !== undefined) return gone
  return isShutDown(object) && !gone
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
async function sayAlive(cluster: Cluster, { metadata: { name }, status: said }: NodeObject): Promise<void> {
  const ready = said.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'True'
  const lastHeartbeatTime = new Date().toISOString()
  const { status } = await cluster.request(
    'PATCH',
    `/api/v1/nodes/${name}/status`,
    { status: { conditions: [{ type: 'Ready', status: ready, lastHeartbeatTime }] } },
    { contentType: 'application/strategic-merge-patch+json' },
  )
  if (status !== 200) throw new Error(`the kubelet of ${name} may not say that it lives (${status})`)
}
