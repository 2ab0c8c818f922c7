import { REPORTS_PATH } from '../../agent/shared/node-report.ts'
import { type Config, settingsOf, type VCenterConfig } from '../config/config.ts'
import { credentialTrouble } from '../config/credentials/credential-watch.ts'
import type { Interlock } from '../cpi/interlock/interlock.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import { createInformer } from '../kubernetes/informer.ts'
import type { Term } from '../kubernetes/leader-election.ts'
import { createObjectParsers } from '../kubernetes/object-parsers.ts'
import type { createPolicyCheck } from '../kubernetes/policy-check.ts'
import { createCSINodes } from '../kubernetes/storage.ts'
import { timeOfDay } from '../lib/format.ts'
import { aborted, type Basics, runTogether, type Task } from '../lib/tasks.ts'
import { agentVersionOf } from '../loops/node/facts/previous-status.ts'
import { createNodeIndex, type NodeIndex } from '../loops/node/gather/node-index.ts'
import { LOOPS, type LoopPorts, ownControllers, type RunningLoop } from '../loops/table.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { InterlockState } from '../types/cluster-state.ts'
import { type Trouble, troubleOf } from '../types/trouble.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'
import { createEventHandlers, createInventoryHandler } from './event-handlers.ts'
import { createFirstAnswers } from './first-answers.ts'
import { createListFailures } from './troubles.ts'
import { createVCenterRemarks } from './vcenter-remarks.ts'

/**
 * What an engine works with: real where a replica leads; where people ask what a leader would do, a client that keeps its
 * writes to itself; in the simulation models of the API server and the vCenters.
 */
export interface EnginePorts extends Pick<LoopPorts, 'tracker' | 'approvals' | 'events' | 'writing'>, Basics {
  readonly config: Config
  readonly client: KubeClient
  readonly openInventory: (
    config: VCenterConfig,
    onChange: (uuids: Iterable<string>) => void,
  ) => RunningInventory
  /** Whether reports can be forged. */
  readonly policy: (
    options: Pick<Parameters<typeof createPolicyCheck>[0], 'sample' | 'onChange'>,
  ) => ReturnType<typeof createPolicyCheck>
  /** Whether a CPI handles Nodes. */
  readonly interlock: (onChange: () => void) => Interlock
  /** Must confirm the Lease before anything that cannot be undone. */
  readonly term: Pick<Term, 'confirm' | 'leadingFor'>
  /** Called when both lists are complete and every VM needed is followed. */
  readonly onSynced: () => void
  readonly metrics: LoopPorts['metrics'] &
    Pick<Metrics, 'vCentersUp' | 'policyInForce' | 'cpiRuns' | 'controllersRun' | 'agentVersions'>
}

/** All loops under one configuration, run as one, with what they watch and ask. */
export interface Engine extends Omit<RunningLoop, 'remarks'> {
  /** The remarks of all loops and of the engine itself, one line each. Anyone can read them. */
  remarks(): readonly string[]
  /** Its problems, then its remarks. */
  troubles(): readonly Trouble[]
  readonly uuidsOf: NodeIndex['uuidsOf']
}

/**
 * Starts the loops: what changes becomes names of Nodes, which every loop is handed. Nothing is decided before both lists are
 * complete, since a Node would otherwise seem to have no report. When the signal aborts, what is under way is finished. When
 * `writing` aborts, all requests under way are dropped: the next leader starts from the Nodes as they are.
 */
export function createEngine(ports: EnginePorts, table = LOOPS): Engine {
  const { config, client, term, writing, clock, random, logger, metrics } = ports
  const settings = settingsOf(config)
  const index = createNodeIndex(settings.identity)
  const queue = { add: (name: string, why?: 'itself') => firstAnswers.add(name, why) }
  const onInventory = createInventoryHandler(index, queue)
  const inventories = config.vCenters.map((vCenter) => ports.openInventory(vCenter, onInventory))
  const firstAnswers = createFirstAnswers({
    index,
    inventories,
    enqueue(name, why) {
      for (const loop of loops) loop.add(name, why)
    },
    clock,
  })
  const { onNode, onReport, onStatus } = createEventHandlers({ index, queue, inventories })
  const synced = { nodes: Promise.withResolvers<void>(), reports: Promise.withResolvers<void>() }
  const parsers = createObjectParsers(new Set(table.flatMap((loop) => [...loop.labels(config)])))
  const failures = createListFailures()
  const nodes = createInformer({
    client,
    path: '/api/v1/nodes',
    parse: parsers.node.shown,
    onChange: onNode,
    onSynced: synced.nodes.resolve,
    onFailing: failures.of('Nodes'),
    clock,
    random,
    logger,
  })
  const reports = createInformer({
    client,
    path: REPORTS_PATH,
    parse: parsers.report.shown,
    onChange: onReport,
    onSynced: synced.reports.resolve,
    onFailing: failures.of('NodeReports'),
    clock,
    random,
    logger,
  })
  const csiNodes = createCSINodes({ client, onChange: queue.add, clock, random, logger })
  function addAll(): void {
    for (const { name } of nodes.values()) queue.add(name)
  }
  const policy = ports.policy({
    sample(without) {
      for (const { name } of reports.values()) if (!without.has(name)) return name
      return undefined
    },
    onChange: addAll,
  })
  const interlock = ports.interlock(() => {
    metrics.controllersRun(isHeld() ? { node: false, lifecycle: false } : ownControllers(config))
    addAll()
  })
  const isHeld = () => interlock.state().state === 'held'

  const loops: readonly RunningLoop[] = table.flatMap(
    ({ start }) =>
      start({
        ...ports,
        parsers,
        nodes,
        reports,
        index,
        inventories,
        policy: policy.state,
        interlock: interlock.state,
        csiTopologyKeys: csiNodes.topologyKeysOf,
        leadingFor: term.leadingFor,
        confirm: async () => !isHeld() && (await term.confirm(writing)),
        onStatus,
        onDecided(name, status) {
          for (const loop of loops) loop.onDecided?.(name, status)
        },
        onInitializing() {
          for (const loop of loops) loop.onInitializing?.()
        },
        otherConditions: (name) => Object.assign({}, ...loops.map((loop) => loop.conditions?.(name))),
        enqueue: queue.add,
      }) ?? [],
  )
  const vCenterRemarks = createVCenterRemarks({
    vCenters: config.vCenters,
    servers: settings.servers,
    labels: settings.labels,
    labelRules: settings.labelRules,
    inventories,
    clock,
    random,
    logger,
  })

  metrics.policyInForce(() => policy.state().state === 'in-force')
  metrics.cpiRuns(isHeld)
  metrics.agentVersions(() =>
    [...reports.values()].flatMap(({ spec }) => (spec.ok ? (agentVersionOf(spec.value) ?? []) : [])),
  )
  metrics.vCentersUp(() => inventories)

  const work: Task = async (signal) => {
    const listed = [synced.nodes.promise, synced.reports.promise, csiNodes.known, interlock.known]
    await Promise.race([Promise.all(listed), aborted(signal)])
    if (!signal.aborted) ports.onSynced()
    await Promise.all([firstAnswers.run(nodes.size, signal), ...loops.map(({ run }) => run(signal))])
  }

  const problems = (): readonly Trouble[] => [
    ...failures.notListed('Nodes', nodes),
    ...failures.notListed('NodeReports', reports),
    ...loops.flatMap((loop) => loop.problems().map(troubleOf)),
    ...interlockProblem(interlock.state()),
    ...inventories.flatMap(vCenterProblem),
  ]
  const remarks = (): readonly Trouble[] => [
    ...vCenterRemarks.troubles(),
    ...[...interlock.remarks(), ...csiNodes.remarks()].map(troubleOf),
    ...loops.flatMap((loop) => loop.remarks()),
  ]

  return {
    problems: () => problems().map(({ text }) => text),
    remarks: () => remarks().map(({ text }) => text),
    troubles: () => [
      ...problems(),
      ...remarks(),
      ...failures.notFollowed('Nodes', nodes),
      ...failures.notFollowed('NodeReports', reports),
    ],
    isIdle: () => firstAnswers.isOver() && loops.every((loop) => loop.isIdle()),
    add: queue.add,
    uuidsOf: index.uuidsOf,
    run: (signal) =>
      runTogether(
        [
          nodes.run,
          reports.run,
          csiNodes.run,
          policy.run,
          interlock.run,
          vCenterRemarks.run,
          work,
          ...inventories.map((inventory) => inventory.run),
        ],
        signal,
      ),
  }
}

function interlockProblem(interlock: InterlockState): readonly Trouble[] {
  return interlock.state === 'held'
    ? [{ ...troubleOf(interlock.message), key: 'interlock', stops: 'all' }]
    : []
}

/** The failure's message names users and addresses. */
function vCenterProblem(inventory: RunningInventory): readonly Trouble[] {
  if (inventory.connected()) return []
  const { vCenter } = inventory
  const failure = inventory.failure()
  const retryAt = failure?.retryAt
  const when = retryAt === undefined ? '' : `, will be retried at ${timeOfDay(retryAt)}`
  const text = `vCenter ${vCenter}: ${failure?.reason ?? 'not connected yet'}${when}`
  // Whatever the reason is now: one that times out and refuses the login in turn has been away for as long.
  const trouble: Trouble = { key: `vCenter ${vCenter}`, text, message: text, stops: { vCenter } }
  if (failure === undefined) return [trouble]
  const { reason, message } = failure
  return [
    {
      ...trouble,
      message: `vCenter ${vCenter}: ${reason}: ${message}`,
      ...(reason === 'NoCredential' ? { covers: credentialTrouble(vCenter) } : {}),
    },
  ]
}
