import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../fixtures/until.ts'
import type { Traffic } from '../servers/vcsim.ts'
import { type Controller, startController, vsphereConf } from '../world/controller.ts'
import { startCPI } from '../world/cpi.ts'
import { countProviderWrites, cpuSeconds, metric, type Usage, watchUsage } from '../world/meters.ts'
import type { Program } from '../world/program.ts'
import { LABELS } from '../world/stage.ts'
import type { BenchStage } from './stage.ts'

export interface BenchmarkRun {
  readonly provider: string
  readonly nodes: number
  /** From the start of the provider, or of the first report, until the last Node was initialized. */
  readonly seconds: number
  /** The same until the first one was. */
  readonly firstSeconds: number
  /** The API server's CPU for each Node, until all were initialized and until all statuses were written, milliseconds. */
  readonly apiServer: { readonly initialized: number; readonly recorded: number }
  /** To Nodes, Events and the statuses of NodeReports. */
  readonly writes: number
  readonly calls: number
  readonly operations: Readonly<Record<string, number>>
  /** Of vCenter's answers, by operation. */
  readonly bytes: Readonly<Record<string, Traffic>>
  readonly sessions: { readonly soap: number; readonly rest: number }
  readonly usage: Usage
  readonly quiet: Quiet | undefined
  /** Nodes that lost the taint before they had an address. */
  readonly early: readonly string[]
  /** Nodes that were not as they should be in the end. */
  readonly wrong: readonly string[]
}

/** What goes on when nothing happens. */
export interface Quiet {
  readonly seconds: number
  readonly calls: number
  readonly operations: Readonly<Record<string, number>>
  /** Of vCenter's answers, by operation. */
  readonly bytes: Readonly<Record<string, Traffic>>
  readonly cpuSeconds: number
  readonly anonymous: number
}

export interface RunOptions {
  readonly stage: BenchStage
  /** Least seconds to look on after all is done; 0 for none. Each provider is watched for its longest interval. */
  readonly quietSeconds: number
}

const PATIENCE = 600_000
const SETTLING = 10_000
const LOOK = 5_000
/** Seconds after which the CPI asks for all addresses again: `--node-status-update-frequency`. */
const CPI_STATUS_INTERVAL = 300
/** Intervals vary: what follows after 300 s may do so a tenth earlier. */
const SHORTEST_INTERVAL = 0.85

/** Nodes and reports are there; the controller starts. */
export async function coldStart({ stage, quietSeconds }: RunOptions): Promise<BenchmarkRun> {
  await using cast = await stage.enter()
  await cast.report()
  const api = await gaugeAPI(stage)
  await using controller = await startOurs(stage, 'started')
  const resynced = () => nextResync(controller)
  return await measure(
    { provider: 'Rollcall', records: true, resynced, stage, cast, quietSeconds, api },
    controller,
    controller.startedAt,
  )
}

async function nextResync(controller: Controller): Promise<void> {
  const at = () => metric(controller, 'rollcall_vcenter_last_resync_timestamp_seconds{vcenter="main"}')
  const last = await at()
  const asked = async () => {
    // Each look costs the controller something, and what it costs when nothing happens is measured here.
    await sleep(LOOK)
    return (await at()) !== last
  }
  await until('all VMs are read again', asked, PATIENCE)
}

/** The controller leads and has nothing to do; then all Nodes report at once. */
export async function arrival({ stage, quietSeconds }: RunOptions): Promise<BenchmarkRun> {
  await using cast = await stage.enter()
  await using controller = await startOurs(stage, 'leading')
  const api = await gaugeAPI(stage)
  const start = performance.now()
  const reporting = cast.report()
  const measured = measure(
    { provider: 'Rollcall, reports arrive', records: true, stage, cast, quietSeconds, api },
    controller,
    start,
  )
  const [run] = await Promise.all([measured, reporting])
  return run
}

/** The same Nodes, and the CPI starts, with so many workers; 1 is its default. */
export async function cpiStart({ stage, quietSeconds }: RunOptions, workers: number): Promise<BenchmarkRun> {
  await using cast = await stage.enter()
  const api = await gaugeAPI(stage)
  const { cluster, vcsim, dir } = stage
  await using cpi = await startCPI({
    cluster,
    dir,
    config: vsphereConf(vcsim, { labels: LABELS, datacenters: ['DC0'] }),
    args: [
      '--controllers=cloud-node-controller,cloud-node-lifecycle-controller',
      `--concurrent-node-syncs=${workers}`,
    ],
  })
  const provider = workers === 1 ? 'CPI' : `CPI, ${workers} workers`
  const watched = quietSeconds > 0 ? Math.max(quietSeconds, CPI_STATUS_INTERVAL) : 0
  return await measure(
    { provider, records: false, stage, cast, quietSeconds: watched, api },
    cpi,
    cpi.startedAt,
  )
}

/** What the API server has to do from here on. */
interface APIGauge {
  /** CPU seconds. */
  cpu(): Promise<number>
  /** Writes of the provider. */
  writes(): Promise<number>
}

async function gaugeAPI({ cluster }: BenchStage): Promise<APIGauge> {
  // First, for its metrics cost the API server something.
  const writes = await countProviderWrites(cluster)
  const cpu = () => cpuSeconds(cluster.apiServerPID())
  const before = await cpu()
  return { cpu: async () => (await cpu()) - before, writes }
}

async function startOurs(stage: BenchStage, ready: 'started' | 'leading') {
  const { cluster, vcsim, dir } = stage
  return startController({ cluster, vcsim, dir, labels: LABELS, until: ready, args: ['--log-level=warn'] })
}

interface Measured extends RunOptions {
  readonly provider: string
  /** Whether it writes statuses of NodeReports. */
  readonly records: boolean
  readonly api: APIGauge
  /** Resolves when all VMs were read again; undefined where that is not told. */
  readonly resynced?: () => Promise<void>
  readonly cast: Awaited<ReturnType<BenchStage['enter']>>
}

async function measure(
  { provider, records, resynced, stage, cast, quietSeconds, api }: Measured,
  program: Program,
  start: number,
): Promise<BenchmarkRun> {
  const { vcsim } = stage
  const apiServerPerNode = async () => ((await api.cpu()) * 1000) / cast.members.length
  const watch = watchUsage(program.pid)
  try {
    const { first, last } = await Promise.race([
      cast.initialized(PATIENCE),
      program.ended.then(({ code, signal }) => {
        throw new Error(`${provider} ended with ${signal ?? code}:\n${program.stderr.slice(-20).join('\n')}`)
      }),
    ])
    const initialized = await apiServerPerNode()
    if (records) await cast.recorded(PATIENCE)
    const recorded = await apiServerPerNode()
    const writes = await api.writes()
    const { total: calls, operations } = await vcsim.calls()
    const bytes = await vcsim.bytes()
    const sessions = await vcsim.sessions()
    const usage = await watch.now()
    const wrong = await cast.wrong()
    return {
      provider,
      nodes: cast.members.length,
      seconds: (last - start) / 1000,
      firstSeconds: (first - start) / 1000,
      apiServer: { initialized, recorded },
      writes,
      calls,
      operations,
      bytes,
      sessions,
      usage,
      quiet: quietSeconds > 0 ? await lookOn(quietSeconds, vcsim, watch, resynced) : undefined,
      early: cast.early(),
      wrong,
    }
  } finally {
    await watch.stop()
  }
}

async function lookOn(
  atLeast: number,
  vcsim: BenchStage['vcsim'],
  watch: ReturnType<typeof watchUsage>,
  resynced: (() => Promise<void>) | undefined,
): Promise<Quiet> {
  // What the last Nodes set off is not quiet yet.
  await sleep(SETTLING)
  // Where VMs are read again at intervals, from one such reading to another: a part of one would say nothing.
  await resynced?.()
  await vcsim.resetCalls()
  const start = performance.now()
  const before = await watch.now()
  await sleep(atLeast * 1000 * SHORTEST_INTERVAL)
  await (resynced === undefined ? sleep(atLeast * 1000 * (1 - SHORTEST_INTERVAL)) : resynced())
  const seconds = Math.round((performance.now() - start) / 1000)
  const after = await watch.now()
  const { total: calls, operations } = await vcsim.calls()
  const bytes = await vcsim.bytes()
  return {
    seconds,
    calls,
    operations,
    bytes,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    anonymous: after.anonymous,
  }
}
