import { checkNode } from './check.ts'
import { diagnose } from './diagnosis.ts'
import { keepRunning } from './keep.ts'
import { showKubectl } from './kubectl.ts'
import type { Options } from './options.ts'
import { prepare } from './prepare.ts'
import { type RollCall, rollCall } from './roll-call.ts'
import { type Site, startSite } from './site.ts'
import { talkingStep } from './steps.ts'
import { stopPrograms } from './stop.ts'
import { renderSummary } from './summary.ts'
import type { Terminal } from './terminal.ts'

export interface DemoOptions {
  readonly options: Options
  readonly terminal: Terminal
  readonly env: NodeJS.ProcessEnv
  /** Ends the demo at once, or the looking around of `--keep`. */
  readonly signal: AbortSignal
}

/**
 * The whole demo; when it has settled, nothing is left of it.
 *
 * @returns whether all was as it should be
 * @throws where it could not be shown, also because of the signal
 */
export async function demo({ options, terminal, env, signal }: DemoOptions): Promise<boolean> {
  const { style } = terminal
  const start = performance.now()
  await using stack = new AsyncDisposableStack()
  terminal.print(...INTRODUCTION, '')
  await talkingStep(
    terminal,
    'binaries',
    () => prepare({ env, signal }),
    () => 'of servers, controller and agent, each built once',
  )
  const site = await startSite({ vms: options.nodes, terminal, stack, signal })
  const setUp = performance.now() - start

  const context = { terminal, env, signal }
  terminal.print('')
  const result = await rollCall(site, { terminal, stack, signal })
  await showKubectl(site, context, 'get', 'nodes', '-o', 'wide')
  await showKubectl(site, context, 'get', 'nodereports')

  const wrong = wrongNodes(site, result)
  const problems = [...(result.problem === undefined ? [] : [result.problem]), ...wrong.values()].flat()
  const evidence = problems.length > 0 ? await diagnose(site, result.agents) : []
  const summary = {
    nodes: options.nodes,
    right: options.nodes - wrong.size,
    setUp,
    times: result.times,
    calls: await site.vcsim.calls(),
    sessions: await site.vcsim.sessions(),
  }
  if (options.keep) await keepRunning(site, context)
  problems.push(...(await stopPrograms(site, result.agents)))
  await stack.disposeAsync()

  terminal.print('', ...renderSummary({ ...summary, total: performance.now() - start }, terminal.columns), '')
  if (problems.length === 0)
    terminal.print(style('green', 'All is as it should be, and nothing is left running.'))
  else terminal.print(style('red', 'Not all is as it should be:'), ...problems.map(indent), ...evidence)
  return problems.length === 0
}

const INTRODUCTION = [
  'Rollcall on a real Kubernetes API server and a simulated vCenter. There are no kubelets: the demo',
  'registers Nodes as they would, and runs what a Deployment, a DaemonSet and a systemd unit would run.',
]

/** What is wrong, by the name of the Node. */
function wrongNodes({ nodes }: Site, { snapshot }: RollCall): Map<string, string[]> {
  const wrong = new Map<string, string[]>()
  for (const planned of nodes) {
    const { name } = planned
    const problems = checkNode(planned, snapshot.nodes.get(name), snapshot.reports.get(name))
    if (problems.length > 0)
      wrong.set(
        name,
        problems.map((problem) => `${name}: ${problem}`),
      )
  }
  return wrong
}

function indent(line: string): string {
  return `  ${line}`
}
