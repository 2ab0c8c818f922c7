import { createBoard } from './board.ts'
import { checkNode } from './check.ts'
import { checkForger } from './check-forger.ts'
import { diagnose } from './diagnosis.ts'
import { showEnding } from './ending/ending.ts'
import { explainForgery, outcome } from './explain.ts'
import { type Forgery, tryForgery } from './forgery.ts'
import { keepRunning } from './keep.ts'
import { showKubectl } from './kubectl.ts'
import { look } from './observe.ts'
import type { DemoArguments } from './options.ts'
import { prepare } from './prepare.ts'
import { type RollCall, rollCall } from './roll-call.ts'
import { type DemoSite, startSite } from './site.ts'
import { talkingStep } from './steps.ts'
import { stopPrograms } from './stop.ts'
import { renderSummary, type Summary } from './summary.ts'
import type { Terminal } from './terminal.ts'

export interface DemoOptions {
  readonly options: DemoArguments
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
    () => 'kube-apiserver, etcd, kubectl, vCenter simulator, controller, agent: built once, then kept',
  )
  const site = await startSite({ nodes: options.nodes, terminal, stack, signal })
  const setUp = performance.now() - start

  const context = { terminal, env, signal }
  terminal.print('')
  const board = createBoard(terminal)
  // However it ends, the cursor comes back.
  stack.defer(() => board.end())
  const watching = { board, stack, signal }
  const result = await rollCall(site, watching)
  const forgery = result.problem === undefined ? await tryForgery(site, result, watching) : undefined
  board.end()
  await showKubectl(site, context, 'kubectl get nodes -o wide')
  await showKubectl(site, context, 'kubectl get nodereports')
  if (forgery !== undefined && forgery.problem === undefined) await explainForgery(site, context)

  const wrong = wrongNodes(site, result)
  const forged = forgery === undefined ? undefined : await forgeryProblems(site, result, forgery)
  if (forged?.length === 0) terminal.print('', outcome(site.forger))
  const problems = [result.problem, ...wrong.values(), forged]
    .flat()
    .filter((problem) => problem !== undefined)
  const calls = await site.vcsim.calls()
  const started = forgery?.agents ?? result.agents
  const ending =
    problems.length === 0 ? await showEnding(site, { agents: started, terminal, signal }) : undefined
  const agents = ending?.agents ?? started
  problems.push(...(ending?.problems ?? []))
  const evidence = problems.length > 0 ? await diagnose(site, agents) : []
  const summary = {
    nodes: options.nodes,
    right: options.nodes - wrong.size,
    forger: forgerWord(forged),
    setUp,
    times: result.times,
    calls,
    ending,
    sessions: await site.vcsim.sessions(),
  }
  if (options.keep) await keepRunning(site, context)
  problems.push(...(await stopPrograms(site, agents)))
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
  'The last to come is a forger: it says that it is the VM of another. Then VMs go, are off, move, and are not to be seen.',
]

/** What is wrong, by the name of the Node. */
function wrongNodes({ nodes }: DemoSite, { snapshot }: RollCall): Map<string, string[]> {
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

/** Looked at again at the very end, when whatever the forger set off has come to rest. */
async function forgeryProblems(
  site: DemoSite,
  { snapshot: before }: RollCall,
  forgery: Forgery,
): Promise<string[]> {
  const { problem, events } = forgery
  if (problem !== undefined) return [problem]
  return checkForger(site.forger, { before, after: await look(site.cluster), events })
}

function forgerWord(problems: readonly string[] | undefined): Summary['forger'] {
  if (problems === undefined) return 'not tried'
  return problems.length === 0 ? 'refused' : 'wrong'
}

function indent(line: string): string {
  return `  ${line}`
}
