import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import type { NodeReportStatus } from '../../../agent/shared/node-report.ts'
import { messageOf } from '../../../agent/shared/result.ts'
import type { Config } from '../../config/config.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { createInformer, type Informer } from '../../kubernetes/informer.ts'
import { compact } from '../../lib/memory.ts'
import { createMultimap, createReverseIndex } from '../../lib/multimap.ts'
import { type Basics, runTogether } from '../../lib/tasks.ts'
import { createTokenBuckets } from '../../lib/token-buckets.ts'
import { createWorkQueue, type ReconcileResult } from '../../lib/work-queue.ts'
import type { PolicyState } from '../../types/cluster-state.ts'
import { type ConditionValue, type ConditionValues, no, yes } from '../../types/condition-value.ts'
import type { Node } from '../../types/node.ts'
import type { Reason } from '../../types/reasons.ts'
import {
  type CertificateRequest,
  judgeRequest,
  nodeOf,
  type RequestJudgment,
  type VerifiedNode,
  verifiedNode,
} from './judge-request.ts'
import { readRequest } from './read-pkcs10.ts'

/** What the loop watches, asks and writes. */
export interface CertificateLoopPorts extends Basics {
  readonly config: Pick<Config, 'certificates'>
  readonly client: KubeClient
  readonly nodes: Pick<Informer<Node>, 'get'>
  readonly policy: () => PolicyState
  readonly approvals: ReturnType<typeof createApprovalRates>
  /** To be called with a Node of which the loop has something else to say. */
  readonly enqueue: (node: string) => void
  readonly metrics: {
    /** What is said of a Node's request has another reason than before. */
    certificateJudged(reason: Reason): void
  }
}

export const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const SIGNER = 'kubernetes.io/kubelet-serving'

/** Written at once, as many as Nodes are: they wait for those anyway. */
const CONCURRENCY = 16
/** Approvals of all Nodes: whoever makes many requests gets few certificates, and a cluster that starts waits for none. */
const RATE = { burst: 1_000, interval: 20 }
/** Of one Node. A kubelet asks when it starts, when its addresses change and a few times a year. */
const RATE_OF_NODE = { burst: 6, interval: 600_000 }

/** What has been approved lately, which outlives a loop: another configuration or term gives no Node more certificates. */
export function createApprovalRates() {
  return { everybody: createTokenBuckets(RATE), each: createTokenBuckets(RATE_OF_NODE) }
}

/** Until so much later nothing is said of a Node that is not decided on, milliseconds: most are, as soon as they have joined. */
const UNDECIDED = 60_000

/**
 * Nothing is decided until no Node was initialized for so long, milliseconds, or until the request has waited so long: an
 * approval and what is said of it cost the API server as much as a Node, for which Pods may wait. Nodes that report at once
 * are initialized in bursts, with pauses of less than that.
 */
const QUIET = 1_000
const PATIENCE = 30_000

const strings = v.nullish(v.array(v.string()), [])

const RequestObject = v.object({
  metadata: v.object({ name: v.string(), resourceVersion: v.string(), creationTimestamp: v.string() }),
  spec: v.object({
    signerName: v.literal(SIGNER),
    request: v.string(),
    username: v.string(),
    groups: strings,
    extra: v.nullish(v.record(v.string(), v.nullable(v.array(v.string()))), {}),
    usages: strings,
  }),
  status: v.nullish(
    v.object({ certificate: v.nullish(v.string()), conditions: v.nullish(v.array(v.unknown()), []) }),
    {},
  ),
})

/** The request of a kubelet that nobody has decided on; undefined for anything else. */
export function parseRequest(object: unknown): CertificateRequest | undefined {
  const parsed = v.safeParse(RequestObject, object)
  if (!parsed.success) return undefined
  const { metadata, spec, status } = parsed.output
  if (status.conditions.length > 0 || status.certificate || nodeOf(spec.username) === '') return undefined
  return compact({
    name: metadata.name,
    resourceVersion: metadata.resourceVersion,
    createdAt: metadata.creationTimestamp,
    username: spec.username,
    groups: spec.groups,
    extra: Object.fromEntries(Object.entries(spec.extra).map(([key, values]) => [key, values ?? []])),
    usages: spec.usages,
    content: readRequest(spec.request),
  })
}

/**
 * Approves the serving certificates of kubelets for the names and addresses that Rollcall knows to be those of their Nodes.
 * Of several requests of one Node only the newest counts. What it says of a Node is written by the loop of Nodes, as the
 * condition ServingCertificate.
 */
export function startCertificateLoop(ports: CertificateLoopPorts) {
  const { client, nodes, approvals, metrics, clock, random, logger } = ports
  const settings = ports.config.certificates
  if (!settings.approve) return undefined
  const verified = new Map<string, VerifiedNode>()
  const holders = createReverseIndex()
  const open = createMultimap()
  /** By request: when it was first seen, monotonic, and its place in the order in which all were. */
  const seen = new Map<string, { readonly at: number; readonly order: number }>()
  let orders = 0
  /** What was said last, and of which Node. */
  const said = new Map<string, { readonly uid: string | undefined; readonly value: ConditionValue }>()
  /** The last request of each Node that was approved or denied: when it was made, and its place in that order. */
  const decided = new Map<string, { readonly createdAt: string; readonly order: number }>()
  let failure: unknown
  let lastInitialized = -Infinity

  const queue = createWorkQueue({
    onError: (node, error) => logger.warn({ node, err: error }, 'deciding on a certificate request failed'),
    concurrency: CONCURRENCY,
    clock,
    random,
  })
  const requests = createInformer({
    client,
    path: REQUESTS,
    fieldSelector: `spec.signerName=${SIGNER}`,
    parse: parseRequest,
    onChange(name, current, previous) {
      const node = nodeOf((current ?? previous)?.username ?? '')
      if (current !== undefined) {
        if (previous === undefined) seen.set(name, { at: clock.monotonic(), order: ++orders })
        open.add(node, name)
        queue.add(node)
        return
      }
      open.delete(node, name)
      seen.delete(name)
      if (!open.has(node)) forgetIfGone(node)
    },
    onFailing(error) {
      failure = error
    },
    clock,
    random,
    logger,
  })

  function forgetIfGone(node: string): void {
    if (nodes.get(node) !== undefined) return
    said.delete(node)
    decided.delete(node)
  }

  /** Those before it are given up: a kubelet waits for the last one that it made. */
  function newestOf(node: string): CertificateRequest | undefined {
    let newest: CertificateRequest | undefined
    for (const name of open.get(node)) {
      const one = requests.get(name)
      if (one !== undefined && one.createdAt >= (newest?.createdAt ?? decided.get(node)?.createdAt ?? ''))
        newest = one
    }
    return newest
  }

  function holderOf(nameOrAddress: string): string | undefined {
    const [holder] = holders.get(nameOrAddress)
    return holder ?? nodes.get(nameOrAddress)?.name
  }

  function say({ name, username }: CertificateRequest, { verdict, reason, message }: RequestJudgment): void {
    const node = nodeOf(username)
    const uid = nodes.get(node)?.uid
    const text = `${name}: ${message}`
    const value = verdict === 'approve' ? yes(reason, text) : no(reason, text)
    const before = said.get(node)
    if (before?.uid === uid && isDeepStrictEqual(before?.value, value)) return
    said.set(node, { uid, value })
    const level = verdict === 'approve' ? 'info' : 'warn'
    logger[level]({ node, request: name, reason, why: value.message }, 'certificate request')
    metrics.certificateJudged(reason)
    ports.enqueue(node)
  }

  async function decide(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const request = newestOf(name)
    if (request === undefined) return 'done'
    const { at, order } = seen.get(request.name) ?? { at: -Infinity, order: 0 }
    const age = clock.monotonic() - at
    const busy = lastInitialized + QUIET - clock.monotonic()
    if (busy > 0 && age < PATIENCE) return { requeueAfter: busy }
    const [node, now] = [nodes.get(name), clock.now()]
    const known = { verified: verified.get(name), policy: ports.policy() }
    const judgment = judgeRequest({ request, node, ...known, holderOf, settings, now })
    if (judgment.verdict === 'wait') {
      const last = decided.get(name)
      // Of one second, the one seen later is the newer one; what is said of the newer one stays.
      if (request.createdAt === last?.createdAt && order < last.order) return 'done'
      const isUndecided = known.policy.state === 'pending' || known.verified?.nodeUID !== node?.uid
      if (node !== undefined && isUndecided && age < UNDECIDED) return { requeueAfter: UNDECIDED - age }
      say(request, judgment)
      return 'done'
    }
    const wait = approvals.everybody.take('', clock.monotonic())
    if (wait > 0) return { requeueAfter: wait }
    const waitOfNode = approvals.each.take(name, clock.monotonic())
    if (waitOfNode > 0) {
      const message =
        'too many certificates were approved for the Node recently; the request will be checked again'
      say(request, { verdict: 'wait', reason: 'TooManyRequests', message })
      return { requeueAfter: waitOfNode }
    }
    try {
      await write(request, judgment, signal)
    } catch (error) {
      // The watch shows what has become of it.
      if (hasStatus(error, 404) || hasStatus(error, 409)) return 'done'
      if (hasStatus(error, 403) || hasStatus(error, 422))
        say(request, { verdict: 'wait', reason: 'ApprovalRefused', message: messageOf(error) })
      throw error
    }
    // The watch may show it later.
    open.delete(name, request.name)
    decided.set(name, { createdAt: request.createdAt, order })
    say(request, judgment)
    return 'done'
  }

  async function write(
    { name, resourceVersion }: CertificateRequest,
    { verdict, message }: RequestJudgment,
    signal: AbortSignal,
  ): Promise<void> {
    const type = verdict === 'approve' ? 'Approved' : 'Denied'
    const condition = { type, status: 'True', reason: `${type}ByRollcall`, message }
    await client.request({
      method: 'PATCH',
      path: `${REQUESTS}/${encodeURIComponent(name)}/approval`,
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion }, status: { conditions: [condition] } },
      signal,
    })
  }

  function add(node: string): void {
    if (open.has(node)) queue.add(node)
  }

  return {
    add,
    onDecided(node: string, status: NodeReportStatus | undefined) {
      const known = status && verifiedNode(status)
      if (known === undefined) verified.delete(node)
      else verified.set(node, known)
      holders.set(node, known?.identityLevel === undefined ? [] : known.addresses)
      if (status === undefined) forgetIfGone(node)
      add(node)
    },
    onInitializing() {
      lastInitialized = clock.monotonic()
    },
    conditions(node: string): ConditionValues {
      const known = said.get(node)
      const isOfIt = known?.uid !== undefined && known.uid === nodes.get(node)?.uid
      return isOfIt ? { ServingCertificate: known.value } : {}
    },
    // Where they may not be listed, nothing is left to do.
    isIdle: () => (requests.synced || failure !== undefined) && queue.isIdle(),
    problems: () => (requests.synced ? [] : [notListed(failure)]),
    remarks: () => [],
    run: (signal: AbortSignal) => runTogether([requests.run, (signal) => queue.run(decide, signal)], signal),
  }
}

function notListed(failure: unknown): string {
  return hasStatus(failure, 403)
    ? 'this controller is not allowed to list certificate requests: apply the component approve-certificates, or set certificates.approve to false'
    : 'certificate requests are not listed yet'
}
