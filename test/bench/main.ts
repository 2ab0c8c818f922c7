/** `npm run bench`: what initializing many Nodes costs, on this machine, against the real servers of the tests. */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { binary } from '../../build/binaries.ts'
import { benchAdmission } from './admission.ts'
import { benchAgent } from './agent.ts'
import { writeBenchmarksPage } from './benchmarks-page.ts'
import {
  admissionBudgets,
  type Budgeted,
  budgeted,
  budgetTable,
  type Floors,
  isKept,
  type Measured,
  typicalFloors,
} from './budgets.ts'
import { benchCertificates, certificateBudgets } from './certificates.ts'
import { measureBareFloor, measureFloor, measureReports } from './floor.ts'
import { arrival, type BenchmarkRun, coldStart, cpiStart } from './initialize.ts'
import { dropFromPageCache } from './page-cache.ts'
import { benchPush, type PushFigures } from './push.ts'
import { deletionTable, isWithinBudget, pushTable } from './push-table.ts'
import { type BenchStage, openBenchStage } from './stage.ts'
import { admissionTable, agentTable, initializeTable, operationsLine, quietTable } from './table.ts'

const HELP = `usage: npm run bench -- [options]

  --nodes LIST     how many, with commas (default 1,10,100,1000,10000)
  --quiet SECONDS  how long to look on afterwards, 0 for not at all (default 60)
  --no-cpi         leave the vSphere CPI out, which is measured on the same servers with up to 1,000 Nodes
  --no-agent       leave the agent out
  --no-admission   leave out what our policies cost a write to a Node
  --policies       instead of all that: what our policies cost a write to a Node
  --certificates   instead of all that: requests of kubelets for certificates, beside as many new Nodes
  --push           instead of all that: how long a power-off takes to become a taint, and a destroyed VM's Node to go
  --write          write docs/benchmarks.md and its picture anew
  --changes N      how many VMs are powered off then (default 200, half of the nodes at most)
  --help           print this text
`

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1,10,100,1000,10000' },
    quiet: { type: 'string', default: '60' },
    cpi: { type: 'boolean', default: true },
    agent: { type: 'boolean', default: true },
    admission: { type: 'boolean', default: true },
    policies: { type: 'boolean', default: false },
    certificates: { type: 'boolean', default: false },
    push: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    changes: { type: 'string', default: '200' },
    help: { type: 'boolean', default: false },
  },
  allowNegative: true,
})
/** So many Nodes arrive three times, and the CPI has them as well, to which each thousand is minutes; growth starts here. */
const QUICK = 1_000
const quietSeconds = Number(values.quiet)
const changes = Number(values.changes)
const counts = values.nodes.split(',').map(Number)
if (values.help || ![...counts, quietSeconds, changes].every(Number.isSafeInteger)) {
  process.stdout.write(HELP)
  process.exit(values.help ? 0 : 2)
}

// What the run has started ends with this process, which a signal alone would not tell.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const say = (text: string) => process.stdout.write(`${text}\n`)
const progress = (text: string) => process.stderr.write(`${text}\n`)
if (values.policies) process.exit((await policies()) ? 0 : 1)
for (const program of ['rollcall-agent', 'rollcall-controller'] as const)
  await dropFromPageCache(await binary(program))
if (values.push) process.exit((await push()) ? 0 : 1)
if (values.certificates) process.exit((await certificates()) ? 0 : 1)
const runs: BenchmarkRun[] = []
const measured: Measured[] = []
for (const nodes of counts) {
  progress(`${nodes} nodes: starting the servers`)
  await using stage = await openBenchStage(nodes)
  const take = async (what: string, run: () => Promise<BenchmarkRun>): Promise<BenchmarkRun> => {
    progress(`${nodes} nodes: ${what}`)
    const taken = await run()
    runs.push(taken)
    return taken
  }
  const times = nodes > QUICK ? 1 : 3
  // Before, between and after, as often as what is divided by it, for the machine may have others to serve.
  const floors = [await measureAlone(stage)]
  const start = await take('Rollcall starts', () => typicalStart(stage, 3, quietSeconds))
  if (times > 1) floors.push(await measureAlone(stage))
  const arrived = await take('Rollcall runs, reports arrive', () =>
    typical(times, () => arrival({ stage, quietSeconds: 0 })),
  )
  floors.push(await measureAlone(stage))
  measured.push({ nodes, ...typicalFloors(floors), start, arrival: arrived })
  if (values.cpi && nodes <= QUICK) {
    await take('the CPI starts', () => cpiStart({ stage, quietSeconds }, 1))
    await take('the CPI starts with 30 workers', () => cpiStart({ stage, quietSeconds: 0 }, 30))
  }
}
// What many Nodes are compared with was measured long before them. It is measured again, on servers that did the same first.
let after: BenchmarkRun | undefined
if (counts.includes(QUICK) && Math.max(...counts) > QUICK) {
  progress(`${QUICK} nodes: starting the servers again`)
  await using stage = await openBenchStage(QUICK)
  await measureAlone(stage)
  progress(`${QUICK} nodes: Rollcall starts`)
  after = await typicalStart(stage, 3, 0)
}

say(`${cpus().length} cores, API server, etcd and vCenter simulator beside it\n`)
say(initializeTable(runs))
say(
  '\nThe reports were written by a load generator, each as the user that its own node is: so many agents do not fit' +
    '\non one machine. Time runs from the start of the provider (where reports arrive: from the first report) until' +
    '\nthe last Node has lost its taint; calls and sessions are counted at the simulator.\n',
)
const admission = values.admission ? await benchAdmission(progress) : []
const budgets = budgeted(measured, after)
const figures = [...budgets, ...admissionBudgets(admission)]
if (figures.length > 0) say(`${budgetTable(figures)}\n`)
const floors = measured.map(
  ({ nodes, floor, bareFloor, reports }) =>
    `${floor.toFixed(1)} s for ${nodes} Nodes, ${bareFloor.toFixed(1)} s on a bare API server (their reports alone: ${reports.toFixed(1)} s)`,
)
say(`The floor, the two writes that initialize a Node and nothing else: ${floors.join('; ')}.\n`)
if (admission.length > 0)
  say(`CPU of the API server for a write to a Node:\n\n${admissionTable(admission)}\n`)
if (quietSeconds > 0) say(`${quietTable(runs)}\n`)
for (const run of runs.filter(({ provider }) => provider.startsWith('Rollcall'))) say(operationsLine(run))
if (values.agent) {
  progress('the agent')
  say(`\n${agentTable(await benchAgent(60))}`)
}
if (values.write) {
  const command = `npm run bench -- ${process.argv.slice(2).join(' ')}`
  await writeBenchmarksPage({
    runs,
    admission,
    budgets,
    command,
    cores: cpus().length,
  })
}
if (!figures.every(isKept)) {
  progress('not all budgets are kept')
  process.exitCode = 1
}
if (
  runs.some(
    ({ provider, early, wrong }) => wrong.length > 0 || (early.length > 0 && provider.startsWith('Rollcall')),
  )
) {
  progress('some Nodes were not as they should be')
  process.exitCode = 1
}

async function measureAlone(stage: BenchStage): Promise<Floors> {
  progress(`${stage.machines.length} nodes: the API server alone`)
  return {
    bareFloor: await measureBareFloor(stage.machines),
    floor: await measureFloor(stage),
    reports: await measureReports(stage),
  }
}

/** The middle one of so many, for a machine's speed changes by a fifth from minute to minute. */
async function typical(
  times: number,
  run: (isLast: boolean) => Promise<BenchmarkRun>,
): Promise<BenchmarkRun> {
  const all: BenchmarkRun[] = []
  for (let i = 1; i <= times; i++) all.push(await run(i === times))
  const last = all.at(-1)
  const middle = all.toSorted((a, b) => a.seconds - b.seconds)[(times - 1) / 2]
  if (last === undefined || middle === undefined) throw new Error(`there is no middle one of ${times}`)
  return { ...middle, quiet: last.quiet }
}

/** The last start is watched afterwards. */
function typicalStart(stage: BenchStage, times: number, quietSeconds: number): Promise<BenchmarkRun> {
  return typical(times, (isLast) => coldStart({ stage, quietSeconds: isLast ? quietSeconds : 0 }))
}

/** Resolves with whether all budgets were kept. */
async function policies(): Promise<boolean> {
  const admission = await benchAdmission(progress)
  const budgets = admissionBudgets(admission)
  say(`${admissionTable(admission)}\n\n${budgetTable(budgets)}`)
  return budgets.every(isKept)
}

/** Resolves with whether all budgets were kept. */
async function certificates(): Promise<boolean> {
  const budgets: Budgeted[] = []
  for (const nodes of counts) {
    progress(`${nodes} nodes: starting the servers`)
    await using stage = await openBenchStage(nodes)
    const figures = await benchCertificates(stage, progress)
    const { floor, without, initialized, approvals, median, worst } = figures
    say(
      `${nodes} Nodes and as many requests at once: initialized after ${initialized.toFixed(1)} s (${without.toFixed(1)} s where nobody approves), all approved ${approvals.toFixed(1)} s later, each ${median.toFixed(1)} s after its Node (median; ${worst.toFixed(1)} s at most); the floor, two writes for each, takes ${floor.toFixed(1)} s`,
    )
    budgets.push(...certificateBudgets(figures))
  }
  say(budgetTable(budgets))
  return budgets.every(isKept)
}

/** How many VMs are destroyed. */
function deletionsOf(nodes: number): number {
  return Math.min(3, Math.floor(nodes / 10))
}

/** Resolves with whether all budgets were kept. */
async function push(): Promise<boolean> {
  const all: PushFigures[] = []
  for (const nodes of counts) {
    progress(`${nodes} nodes: starting the servers`)
    await using stage = await openBenchStage(nodes)
    const figures = await benchPush({
      stage,
      changes: Math.min(changes, Math.floor(nodes / 2)),
      deletions: deletionsOf(nodes),
      quietSeconds,
      random: Math.random,
      progress: (text) => progress(`${nodes} nodes: ${text}`),
    })
    all.push(figures)
  }
  say(`${cpus().length} cores, API server, etcd and vCenter simulator beside it`)
  for (const figures of all) {
    const calls = Object.entries(figures.operations).map(([operation, count]) => `${count} ${operation}`)
    say(`\n${pushTable(figures)}\n\n${deletionTable(figures)}`)
    say(`\nvCenter calls in ${figures.quietSeconds} quiet s: ${calls.join(', ') || 'none'}`)
    if (figures.lost.length > 0)
      say(`never tainted, or without word from vCenter: ${figures.lost.join(', ')}`)
  }
  return all.every(isWithinBudget)
}
