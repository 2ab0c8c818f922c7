/** What a bug report needs, in one text with a section each: plain text is read before it is sent, and quoted in an issue. */
import * as v from 'valibot'
import { printLines } from '../../../agent/shared/diagnosis.ts'
import { REPORTS_PATH } from '../../../agent/shared/node-report.ts'
import { escapeUnprintable } from '../../../agent/shared/printable.ts'
import { attempt, messageOf, type Result } from '../../../agent/shared/result.ts'
import type { Config, VCenterConfig } from '../../config/config.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { createLeaseStore } from '../../kubernetes/lease.ts'
import { readList } from '../../kubernetes/list.ts'
import { once } from '../doctor/check.ts'
import { doctor } from '../doctor/doctor.ts'
import {
  connect,
  type DoctorOptions,
  findConfiguration,
  nodesAndReports,
  opens,
  prepareToAsk,
} from '../doctor/prepare.ts'
import { statusOf } from '../status/node-status.ts'
import { withoutSecrets } from './redact.ts'

export interface BundleOptions extends DoctorOptions {
  /** What `status` prints. Throws where it cannot be read. */
  readonly status: (client: KubeClient, signal: AbortSignal) => Promise<string>
}

/** Reports in a bundle; those of Nodes that are not well come first. */
const MOST_REPORTS = 100
const LOG_LINES = 5_000
/** Bytes of one log, and of the metrics. */
const MAX_TEXT = 4 << 20
const SILENCE = 15_000
/** Where metrics are served by default. */
const METRICS_PORT = 10270

/**
 * Gathers everything. What cannot be read is a line in its section. No credential is in it: secrets are not printed, and what
 * else turns out to hold one of them is cut.
 *
 * @throws the signal's reason when it aborts
 */
export async function gatherBundle(options: BundleOptions, signal: AbortSignal): Promise<string> {
  const client = connect(options)
  try {
    const { configured, accounts } = await findConfiguration(options, client, signal)
    const opened = () => opens(client)
    const leader = once(async () => findLeader(opened(), options, accounts.controller.namespace, signal))
    const known = once(() => nodesAndReports(client, signal))
    const log = (query: Readonly<Record<string, string>>) => async () => {
      const { path, container } = await leader()
      return readText(opened(), path, { ...container, tailLines: `${LOG_LINES}`, ...query }, signal)
    }
    const sections: readonly (readonly [title: string, read: () => Promise<string>])[] = [
      ['versions', () => versions(opened(), options.version, known, signal)],
      ['configuration', async () => printConfiguration(configured)],
      ['doctor', async () => printLines(await doctor(options, signal))],
      ['status', () => options.status(opened(), signal)],
      ['reports', () => reports(opened(), known, signal)],
      ['metrics of the leader', async () => readText(opened(), (await leader()).metrics, {}, signal)],
      ['log of the leader', log({})],
      ['log of the leader, before its last restart', log({ previous: 'true' })],
    ]
    const texts = await Promise.all(sections.map(([, read]) => attempt(read)))
    const { secrets, unknown } = configured.ok
      ? await secretsOf(configured.value, client, options, signal)
      : { secrets: [], unknown: [] }
    signal.throwIfAborted()
    const parts = sections.map(([title], index) => {
      const text = texts[index]
      const said = text?.ok === true ? text.value : `could not be read: ${messageOf(text?.error)}`
      return `===== ${title} =====\n\n${said.trimEnd()}\n`
    })
    return escapeUnprintable(withoutSecrets([...unknown, ...parts].join('\n'), secrets))
  } finally {
    if (client.ok) await client.value.close()
  }
}

/** Nodes and reports, read once. */
type Known = () => ReturnType<typeof nodesAndReports>

async function versions(
  client: KubeClient,
  version: string,
  known: Known,
  signal: AbortSignal,
): Promise<string> {
  const Version = v.object({ gitVersion: v.string(), platform: v.optional(v.string(), '') })
  const { gitVersion, platform } = v.parse(
    Version,
    await client.request({ method: 'GET', path: '/version', signal }),
  )
  const read = await attempt(known)
  return [
    `this program: ${version}`,
    `API server: ${gitVersion} ${platform}`,
    ...(read.ok ? agentsOf(read.value) : [messageOf(read.error)]),
  ].join('\n')
}

function agentsOf({ nodes, reports }: Awaited<ReturnType<typeof nodesAndReports>>): readonly string[] {
  const agents = Map.groupBy(reports.values(), ({ spec }) => (spec.ok ? spec.value.agentVersion : 'unknown'))
  return [
    `Nodes: ${nodes.length}`,
    ...[...agents].map(([each, { length }]) => `agents of version ${each}: ${length}`),
  ]
}

/** As it counts, with what the environment and the defaults give. */
function printConfiguration(configured: Awaited<ReturnType<typeof findConfiguration>>['configured']): string {
  if (!configured.ok) return configured.problems.join('\n')
  const { source, loaded } = configured.value
  const config: Config = loaded.config
  const safe = { ...config, vCenters: config.vCenters.map(withoutCredential) }
  return [source.path, ...loaded.warnings, JSON.stringify(safe, undefined, 2)].join('\n')
}

/** A user from a Secret may be the password in the wrong place, a file of certificates may hold a key. */
function withoutCredential(vCenter: VCenterConfig): object {
  const { userSource, sessionManager, trust, user, noCredential, ...rest } = vCenter
  return {
    ...rest,
    user: noCredential === undefined && userSource === undefined ? user : '[redacted]',
    trust: trust.kind === 'ca' ? { kind: 'ca' } : trust,
    ...(userSource === undefined ? {} : { userSource }),
    ...(sessionManager === undefined ? {} : { sessionManager: '[redacted]' }),
  }
}

/** Each in a line: those of Nodes that are not well first. */
async function reports(client: KubeClient, known: Known, signal: AbortSignal): Promise<string> {
  const { nodes, reports } = await known()
  const named = new Map(nodes.map((node) => [node.name, node]))
  const isWell = (name: string) => {
    const node = named.get(name)
    return node !== undefined && statusOf(node, reports.get(name)).pending === undefined
  }
  const well: string[] = []
  const others: string[] = []
  await readList(
    client,
    { path: REPORTS_PATH },
    (object) => {
      const read = v.safeParse(RawReport, object)
      if (read.success) (isWell(read.output.metadata.name) ? well : others).push(JSON.stringify(read.output))
    },
    signal,
  )
  const all = [...others, ...well]
  const more = all.length - MOST_REPORTS
  return [...all.slice(0, MOST_REPORTS), ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

/** Without annotations, which are others'. */
const RawReport = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.optional(v.string()),
    generation: v.optional(v.number()),
    creationTimestamp: v.optional(v.string()),
  }),
  spec: v.optional(v.unknown()),
  status: v.optional(v.unknown()),
})

const Pod = v.object({
  metadata: v.object({ name: v.string(), namespace: v.string() }),
  spec: v.object({
    containers: v.pipe(
      v.array(
        v.object({
          name: v.string(),
          ports: v.optional(
            v.array(v.object({ name: v.optional(v.string()), containerPort: v.number() })),
            [],
          ),
        }),
      ),
      v.minLength(1),
    ),
  }),
})

/** Where the API server has the leader's log and its metrics. */
async function findLeader(
  client: KubeClient,
  { lease }: BundleOptions,
  namespace: string,
  signal: AbortSignal,
) {
  const holder =
    (await createLeaseStore(client, lease.namespace, lease.name).get(signal))?.record.holder ?? ''
  if (holder === '') throw new Error(`no replica holds the Lease ${lease.namespace}/${lease.name}`)
  // Each process adds a suffix to the name of its Pod.
  const name = holder.replace(/_[^_]*$/, '')
  const pods: v.InferOutput<typeof Pod>[] = []
  await readList(
    client,
    { path: '/api/v1/pods', fieldSelector: `metadata.name=${name}` },
    (object) => {
      const pod = v.safeParse(Pod, object)
      // Whoever may write the Lease chooses the name: it must not become another selector, or another path.
      if (pod.success && pod.output.metadata.name === name) pods.push(pod.output)
    },
    signal,
  )
  // Elsewhere anybody may have given a Pod that name.
  const [pod] = pods.toSorted((one) => (one.metadata.namespace === namespace ? -1 : 1))
  if (pod === undefined)
    throw new Error(`${holder} leads, and there is no Pod ${name}: add its log and its /metrics by hand`)
  const { containers } = pod.spec
  // Beside it there may be a sidecar.
  const own = containers.find((each) => each.name === 'controller') ?? containers[0]
  const port = own?.ports.find((each) => each.name === 'http')?.containerPort ?? METRICS_PORT
  const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods/${name}`
  return {
    path: `${path}/log`,
    container: own === undefined ? {} : { container: own.name },
    metrics: `${path}:${port}/proxy/metrics`,
  }
}

/** The end of a text, where it is too long. */
async function readText(
  client: KubeClient,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of await client.stream({ method: 'GET', path, query, signal }, SILENCE)) {
    chunks.push(chunk)
    bytes += chunk.byteLength
    while (bytes - (chunks[0]?.byteLength ?? bytes) >= MAX_TEXT) bytes -= chunks.shift()?.byteLength ?? 0
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** All credentials of the configuration, also those that Secrets and folders have, and a line for each that is not known. */
async function secretsOf(
  configured: Parameters<typeof prepareToAsk>[0],
  client: Result<KubeClient>,
  options: BundleOptions,
  signal: AbortSignal,
): Promise<{ readonly secrets: readonly string[]; readonly unknown: readonly string[] }> {
  const { vCenters } = await prepareToAsk(configured, client, options, signal)
  const secrets = [...configured.loaded.config.vCenters, ...vCenters].flatMap(
    ({ password, userSource, user, sessionManager }) => [
      password.reveal(),
      ...(userSource === undefined ? [] : [user]),
      ...(sessionManager === undefined ? [] : [sessionManager]),
    ],
  )
  const unknown = vCenters.flatMap(({ name, password }) =>
    password.reveal() === ''
      ? [`the password for vCenter ${name} could not be read, so nobody has looked for it in this text\n`]
      : [],
  )
  return { secrets, unknown }
}
