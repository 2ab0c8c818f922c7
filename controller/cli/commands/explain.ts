import { REPORTS_PATH } from '../../../agent/shared/node-report.ts'
import type { LogLevel } from '../../../agent/shared/program.ts'
import { attempt, ok, type Result } from '../../../agent/shared/result.ts'
import { readCredentials } from '../../config/credentials/credential-watch.ts'
import { firstLook } from '../../cpi/interlock/interlock.ts'
import type { ExplainFacts } from '../../inspect/explain/chain.ts'
import {
  type Explanation,
  explainNode,
  explanationJSON,
  printExplanation,
  suggestNode,
} from '../../inspect/explain/explain-node.ts'
import { DEADLINE, runOnCopy } from '../../inspect/plan/run-on-copy.ts'
import { compareWithOurs, readLeader } from '../../inspect/status/leader.ts'
import { unread } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { operatorCredentials } from '../../kubernetes/credentials.ts'
import { createLeaseStore } from '../../kubernetes/lease.ts'
import { type ListQuery, readAll } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import { ownControllers } from '../../loops/table.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import type { Node } from '../../types/node.ts'
import { logLevelOf, nodeName, type PeopleFlags, peopleFlags } from '../command-line/options.ts'
import { command, configSource, loadOrWarn, partsOf, type Surroundings, withClient } from './command.ts'

/** How the leader was started cannot be seen from here. */
const ASSUMED =
  'the file has no "identity.require", so reported is assumed; with the CPI\'s arguments it means asserted: write it, and run this again'

const NODES = '/api/v1/nodes'
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
export const EXPLAIN = command({
  does: 'explains one Node, from its report to vCenter to the decision, and what would change it; with --config it asks vCenter now; exit code 1 if something could not be found out',
  operand: { name: 'NODE' },
  required: [],
  optional: ['config', 'kubeconfig', 'context', 'output', 'lease-namespace', 'lease-name', 'log-level'],
  parse(values) {
    const flags = peopleFlags(values)
    if (!flags.ok) return flags
    const node = nodeName(values.get('operand') ?? '')
    // What is wrong is in the explanation itself.
    const logLevel = logLevelOf(values, 'error')
    return ok({ ...flags.value, node, config: values.get('config'), logLevel })
  },
  async start(flags, surroundings, signal) {
    const { environment, stdout, warn } = surroundings
    const source = flags.config === undefined ? undefined : configSource(flags.config, environment)
    const config = source && (await loadOrWarn(source, warn))
    if (source !== undefined && config === undefined) return 1
    for (const warning of config?.loaded.warnings ?? []) warn(warning)
    const credentials = operatorCredentials(flags, environment)
    const explanation = await withClient(credentials, surroundings, (client) =>
      explain(client, config, flags, surroundings, signal),
    )
    stdout.write(flags.output === 'json' ? explanationJSON(explanation) : printExplanation(explanation))
    return explanation.unknown.length === 0 ? 0 : 1
  },
})

type Loaded = Awaited<ReturnType<typeof loadOrWarn>>

async function explain(
  client: KubeClient,
  config: Loaded,
  flags: PeopleFlags & { readonly node: string; readonly logLevel: LogLevel },
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<Explanation> {
  const { node: name } = flags
  const parts = partsOf(flags, surroundings, flags.logLevel)
  const { lease, clock } = parts
  const node = await findNode(client, name, signal)
  const { skew, notes } = await compareWithOurs(client, clock, signal)
  const now = () => clock.now() + skew
  const [reports, kubelet, leader, fresh] = await Promise.all([
    attempt(() =>
      readAll(
        client,
        { path: REPORTS_PATH, fieldSelector: `metadata.name=${name}` },
        parseNodeReport,
        signal,
      ),
    ),
    attempt(() => createLeaseStore(client, 'kube-node-lease', name).get(signal)),
    attempt(() => readLeader(client, lease, { ...clock, now }, signal)),
    attempt(async () => config && lookNow(name, config, { ...parts, client }, signal)),
  ])
  signal.throwIfAborted()
  return explainNode({
    node,
    report: reports.ok ? reports.value.get(name) : undefined,
    reportsRead: reports.ok,
    kubelet: kubelet.ok ? kubelet.value?.record : 'unread',
    leader: leader.ok ? leader.value.text : 'the leader is not known',
    ...(leader.ok ? { leads: leader.value.leads, troubles: leader.value.troubles } : {}),
    asked: config !== undefined,
    fresh: fresh.ok ? fresh.value?.look : undefined,
    assumed: [...notes, ...(config?.loaded.requireGiven === false ? [ASSUMED] : [])],
    unknown: [
      ...unreadOf('NodeReports', reports),
      ...unreadOf('the Lease of its kubelet', kubelet),
      ...unreadOf('the Lease of the leader', leader),
      ...unreadOf('what vCenter says now', fresh),
      ...(fresh.ok ? (fresh.value?.remarks ?? []) : []),
    ],
    now: now(),
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
  const one = NODE_NAME.test(name)
    ? await read({ fieldSelector: `metadata.name=${name}` })
    : ok(new Map<string, Node>())
  if (!one.ok) throw new Error(unread('Nodes', one.error), { cause: one.error })
  const node = one.value.get(name)
  if (node !== undefined) return node
  const [all, reports] = await Promise.all([
    read({}),
    attempt(() => readAll(client, { path: REPORTS_PATH }, parseNodeReport, signal)),
  ])
  const report = (node: string) => (reports.ok ? reports.value.get(node) : undefined)
  throw new Error(
    `there is no Node ${name}${suggestNode(name, all.ok ? [...all.value.values()] : [], report)}`,
  )
}

async function lookNow(
  name: string,
  { loaded, ...sources }: NonNullable<Loaded>,
  parts: ReturnType<typeof partsOf> & { readonly client: KubeClient },
  signal: AbortSignal,
): Promise<{ readonly look: ExplainFacts['fresh']; readonly remarks: readonly string[] }> {
  const config = await readCredentials(
    { ...parts, ...sources, config: loaded.config, within: DEADLINE },
    signal,
  )
  const own = { lease: parts.lease, controllers: ownControllers(config) }
  const { state, remarks } = await firstLook({ ...parts, own }, signal)
  // Nobody reads these metrics: no port is opened, and the Lease is not taken.
  const metrics = createMetrics({ ...parts, lease: '' })
  const interlock = state ?? { state: 'open' }
  const looked = await runOnCopy({ ...parts, config, metrics, interlock, probed: name }, signal)
  return {
    look: looked.nodes.get(name),
    remarks: [...(state === undefined ? [CPI_UNKNOWN] : remarks), ...looked.remarks],
  }
}
