import type { Clock } from '../../../agent/shared/clock.ts'
import { API_GROUP, API_VERSION, PLURAL } from '../../../agent/shared/node-report.ts'
import { attempt, ok, type Result } from '../../../agent/shared/result.ts'
import { readCredentials } from '../../config/credentials/read-credentials.ts'
import type { ConfigSource, LoadedConfig } from '../../config/load.ts'
import { firstLook } from '../../cpi/interlock/first-look.ts'
import { ownControllers } from '../../cpi/interlock/judge-interlock.ts'
import { explainNode } from '../../inspect/explain/explain-node.ts'
import type { Explanation, FreshLook } from '../../inspect/explain/facts.ts'
import { suggestNode } from '../../inspect/explain/suggest-node.ts'
import { DEADLINE, decideOnCopy } from '../../inspect/plan/decide-on-copy.ts'
import { planOf } from '../../inspect/plan/node-plan.ts'
import { readLeader } from '../../inspect/status/read-leader.ts'
import { unread } from '../../kubernetes/api-error.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import { createLeaseStore, type LeaseName } from '../../kubernetes/lease.ts'
import { type ListQuery, readList } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import type { Logger } from '../../lib/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Node } from '../../types/node.ts'

export interface ExplainOptions {
  readonly node: string
  /** To ask vCenter as well; without it what the leader wrote is explained. */
  readonly config: (ConfigSource & { readonly loaded: LoadedConfig }) | undefined
  readonly credentials: CredentialLocation
  readonly lease: LeaseName
  readonly version: string
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: Metrics
  /** As of {@link decideOnCopy}. */
  readonly warn: (message: string) => void
}

/** How the leader was started cannot be seen from here. */
const ASSUMED =
  'the file has no "identity.require", so reported is assumed; with the CPI\'s arguments it means asserted: write it, and run this again'

const NODES = '/api/v1/nodes'
const REPORTS = `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}`
const NODE_NAME = /^[a-z0-9.-]{1,253}$/
/** Where a CPI could be there as well, and it is not known whether it handles Nodes. */
const CPI_UNKNOWN = 'it could not be determined whether a vSphere CPI handles Nodes as well'

/**
 * Explains one Node by what stands in the cluster and, with a configuration, by what a leader would decide now: the leader's
 * own code on a copy in memory, with one probe of its VM where that is missing. Nothing is
 * written but the attempts to log in, which are counted in the Lease.
 *
 * @throws where the Node cannot be read or there is none, with what was probably meant; where the signal aborts
 */
export async function explain(options: ExplainOptions, signal: AbortSignal): Promise<Explanation> {
  const { clock, version, credentials } = options
  const client = createKubeClient({ credentials, clock, userAgent: `rollcall-controller/${version}` })
  try {
    return await explainWith(client, options, signal)
  } finally {
    await client.close()
  }
}

async function explainWith(
  client: KubeClient,
  options: ExplainOptions,
  signal: AbortSignal,
): Promise<Explanation> {
  const { node: name, lease, clock } = options
  const node = await findNode(client, name, signal)
  const [reports, kubelet, leader, fresh] = await Promise.all([
    attempt(() =>
      readAll(client, { path: REPORTS, fieldSelector: `metadata.name=${name}` }, parseNodeReport, signal),
    ),
    attempt(() => createLeaseStore(client, 'kube-node-lease', name).get(signal)),
    attempt(() => readLeader(client, lease, clock.now(), signal)),
    attempt(() => lookNow(client, options, signal)),
  ])
  signal.throwIfAborted()
  return explainNode({
    node,
    report: reports.ok ? reports.value[0] : undefined,
    reportsRead: reports.ok,
    kubelet: kubelet.ok ? kubelet.value?.record : 'unread',
    leader: leader.ok ? leader.value : 'the leader is not known',
    asked: options.config !== undefined,
    fresh: fresh.ok ? fresh.value?.look : undefined,
    assumed: options.config?.loaded.requireGiven === false ? [ASSUMED] : [],
    unknown: [
      ...unreadOf('NodeReports', reports),
      ...unreadOf('the Lease of its kubelet', kubelet),
      ...unreadOf('the Lease of the leader', leader),
      ...unreadOf('what vCenter says now', fresh),
      ...(fresh.ok ? (fresh.value?.remarks ?? []) : []),
    ],
    now: clock.now(),
  })
}

function unreadOf(what: string, read: Result<unknown, { readonly error: unknown }>): readonly string[] {
  return read.ok ? [] : [unread(what, read.error)]
}

/** By a list, as the controller's own account may not get one. */
async function findNode(client: KubeClient, name: string, signal: AbortSignal): Promise<Node> {
  const read = (query: Pick<ListQuery, 'fieldSelector'>) =>
    attempt(() => readAll(client, { path: NODES, ...query }, parseNode, signal))
  // Anything else could be more than a name there.
  const one = NODE_NAME.test(name) ? await read({ fieldSelector: `metadata.name=${name}` }) : ok([])
  if (!one.ok) throw new Error(unread('Nodes', one.error), { cause: one.error })
  const [node] = one.value
  if (node !== undefined) return node
  const [all, reports] = await Promise.all([
    read({}),
    attempt(() => readAll(client, { path: REPORTS }, parseNodeReport, signal)),
  ])
  const known = new Map((reports.ok ? reports.value : []).map((report) => [report.name, report]))
  throw new Error(
    `there is no Node ${name}${suggestNode(name, all.ok ? all.value : [], (each) => known.get(each))}`,
  )
}

async function readAll<T>(
  client: KubeClient,
  query: ListQuery,
  parse: (object: unknown) => T | undefined,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const found: T[] = []
  const keep = (object: unknown): void => {
    const parsed = parse(object)
    if (parsed !== undefined) found.push(parsed)
  }
  await readList(client, query, keep, signal)
  return found
}

/** Undefined without a configuration. */
async function lookNow(
  client: KubeClient,
  options: ExplainOptions,
  signal: AbortSignal,
): Promise<{ readonly look: FreshLook | undefined; readonly remarks: readonly string[] } | undefined> {
  if (options.config === undefined) return undefined
  const { loaded, ...sources } = options.config
  const config = await readCredentials(
    { ...options, ...sources, config: loaded.config, client, within: DEADLINE },
    signal,
  )
  const own = { lease: options.lease, controllers: ownControllers(config) }
  const { state, remarks } = await firstLook({ ...options, client, own }, signal)
  const interlock = state ?? { state: 'open' }
  const decided = await decideOnCopy({ ...options, config, client, interlock, probed: options.node }, signal)
  const { before, nodes, reports, decisions, settings } = decided
  const node = before.get(options.node)
  const said = [...(state === undefined ? [CPI_UNKNOWN] : remarks), ...decided.remarks]
  if (node === undefined) return { look: undefined, remarks: said }
  const decision = decisions.get(node.name)
  const plan = planOf({
    before: node,
    after: nodes.get(node.name) ?? node,
    report: reports.get(node.name),
    decision,
    settings,
  })
  return { look: { decision, plan }, remarks: said }
}
