import { ApiError } from '../../agent/shared/api-error.ts'
import { createBackoff } from '../../agent/shared/backoff.ts'
import {
  AGENT_FIELD_MANAGER,
  API_GROUP,
  API_VERSION,
  KIND,
  type NodeReportSpec,
  REPORTS_PATH,
} from '../../agent/shared/node-report.ts'
import { printable } from '../../agent/shared/printable.ts'
import { messageOf } from '../../agent/shared/result.ts'
import type { Basics } from '../lib/tasks.ts'
import type { PolicyState } from '../types/cluster-state.ts'
import { accountsIn, DEFAULT_NAMESPACE, userOf } from './access-review.ts'
import type { KubeClient, KubeRequest } from './client.ts'
import type { LeaseName } from './lease.ts'

const POLICY = 'own-report.rollcall.dev'
/** The API server's message for a rejection by a policy (`admission/plugin/policy/validating/dispatcher.go`). */
const REJECTED_BY_POLICY = `ValidatingAdmissionPolicy '${POLICY}' with binding `
/** The messages of a webhook that denies (`admission/plugin/webhook/errors/statuserror.go`), and of any policy. */
const DENIED_BY_WEBHOOK = / was answered with [^:]*: admission webhook "([^"]{1,253})" denied the request/
const DENIED_BY_POLICY =
  /: ValidatingAdmissionPolicy '([^']{1,253})' (?:with binding '[^']*' )?denied request/
/** The message of policies and webhooks while an API server is starting (`policy/generic/plugin.go`). */
const NOT_READY = 'not yet ready to handle request'

/** A name that no Node has; and if one had it, a dry run would do no harm. */
const NOBODY = 'policy-proof.rollcall.dev'
const UID = '00000000-0000-0000-0000-000000000000'

/** How many reports are tried in one check where something else than the policy denies their change. */
const SAMPLES = 3

/** Between checks while the policy is in force. */
const INTERVAL = { base: 20_000, max: 20_000 }
/** If there was no answer for this long after the start, milliseconds, the Nodes that wait for it are told. */
const PATIENCE = 120_000
/** An inconclusive answer is believed after that long, milliseconds, if the policy was in force. */
const DOUBT = 10_000
/** Between checks otherwise: a policy takes effect some seconds after it was applied. */
const RETRY = { base: 1_000, max: 30_000 }

/** What an answer of the API server says about the policy. */
type PolicyAnswer =
  | { readonly outcome: 'in-force' }
  | (Omit<Extract<PolicyState, { readonly state: 'not-in-force' }>, 'state'> & {
      /** `denied-elsewhere`: by another admission plugin, perhaps for what is in that report alone. */
      readonly outcome: 'open' | 'unproven' | 'denied-elsewhere'
      readonly cause?: string
    })
  /** It says nothing about the policy. */
  | { readonly outcome: 'none'; readonly cause: string }

/**
 * Checks by trying that the report policy is in force: in dry runs, as the agents' account without a node, it writes first
 * a new report and then an existing one. Both must be rejected by that policy and nothing else. The reports are otherwise
 * valid, so that no other rule of the policy rejects them.
 *
 * What was found stays until the API server says otherwise. Inconclusive answers must continue for {@link DOUBT}, because an
 * API server that has just started rejects requests whose permissions and kinds it has not read yet.
 */
export function createPolicyCheck(
  options: Basics & {
    readonly client: KubeClient
    /** The agents' account; impersonated without a token it belongs to no node. */
    readonly agent?: LeaseName | undefined
    /** The name of any report that exists and is none of these, undefined where there is none. */
    readonly sample: (without: ReadonlySet<string>) => string | undefined
    /** What a check before this one has found. */
    readonly found?: PolicyState | undefined
    /** Called after `state` has changed. */
    readonly onChange: () => void
  },
) {
  const { client, clock, random, logger, sample, onChange } = options
  const { agent = accountsIn(DEFAULT_NAMESPACE).agent } = options
  const interval = createBackoff({ ...INTERVAL, random })
  const retry = createBackoff({ ...RETRY, random })
  let state: PolicyState = options.found ?? { state: 'pending' }
  let doubtedSince: number | undefined
  let silent = false
  /**
   * Reports whose change was not answered, or denied by something else than the policy: others are tried, or one that is slow
   * to write, or that a webhook guards, would hold up all Nodes.
   */
  const useless = new Set<string>()
  const start = clock.monotonic()

  function nextSample(): string | undefined {
    const name = sample(useless)
    if (name !== undefined || useless.size === 0) return name
    useless.clear()
    return sample(useless)
  }

  async function ask(signal: AbortSignal): Promise<PolicyAnswer> {
    const created = await tryWrite('create a report', {
      method: 'POST',
      path: REPORTS_PATH,
      query: { dryRun: 'All' },
      body: reportOf(NOBODY),
      signal,
    })
    if (created.outcome !== 'in-force') return created
    const tried = new Set<string>()
    let changed: PolicyAnswer = created
    while (tried.size < SAMPLES) {
      const name = nextSample()
      if (name === undefined || tried.has(name)) return changed
      tried.add(name)
      changed = await tryChange(name, signal)
      const isDeniedElsewhere = changed.outcome === 'denied-elsewhere'
      if (changed.outcome === 'none' || isDeniedElsewhere) useless.add(name)
      if (!isDeniedElsewhere) return changed
    }
    return changed
  }

  function tryChange(name: string, signal: AbortSignal): Promise<PolicyAnswer> {
    return tryWrite("change a Node's report", {
      method: 'PATCH',
      path: `${REPORTS_PATH}/${encodeURIComponent(name)}`,
      // The agent's own, or the Node's owner reference would stand there beside this one.
      query: { dryRun: 'All', fieldManager: AGENT_FIELD_MANAGER, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: reportOf(name),
      signal,
    })
  }

  async function tryWrite(what: string, request: KubeRequest): Promise<PolicyAnswer> {
    try {
      await client.request({ ...request, impersonate: userOf(agent) })
    } catch (error) {
      return answerOf(error, agent)
    }
    const message = `reports may be forged: an agent without a node could ${what}; apply policy-own-report.yaml, with its binding; if both exist but were modified, run "kubectl replace -f" on it`
    return { outcome: 'open', message }
  }

  function take(answer: PolicyAnswer): void {
    if (answer.outcome === 'none') {
      doubtedSince = undefined
      if (!silent) logger.warn({ policy: POLICY, cause: answer.cause }, 'policy proof without an answer')
      silent = true
      if (state.state !== 'pending' || clock.monotonic() - start < PATIENCE) return
      const message = `whether reports can be forged is unknown: no trial write has had a usable response since startup (${answer.cause}); check the API server and its admission webhooks`
      state = { state: 'not-in-force', message }
      onChange()
      return
    }
    silent = false
    const now = clock.monotonic()
    const isInDoubt = answer.outcome === 'unproven' || answer.outcome === 'denied-elsewhere'
    doubtedSince = isInDoubt ? (doubtedSince ?? now) : undefined
    if (state.state === 'in-force' && doubtedSince !== undefined && now - doubtedSince < DOUBT) return
    if (answer.outcome === 'in-force') {
      if (state.state === 'in-force') return
      state = { state: 'in-force' }
      logger.info({ policy: POLICY }, 'policy is in force')
    } else {
      const { outcome, cause, message, mayNotTry } = answer
      if (state.state === 'not-in-force' && state.message === message) return
      state = { state: 'not-in-force', message, ...(mayNotTry === undefined ? {} : { mayNotTry }) }
      const what = outcome === 'open' ? 'policy is not in force' : 'policy is not known to be in force'
      logger.error({ policy: POLICY, error: message, cause }, what)
    }
    onChange()
  }

  return {
    state: (): PolicyState => state,
    /** Checks regularly until the signal aborts. Never rejects. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const answer = await ask(signal)
        if (signal.aborted) return
        take(answer)
        const proven = answer.outcome === 'in-force'
        if (proven) retry.reset()
        await clock.sleep(proven ? interval.next() : retry.next(), signal)
      }
    },
  }
}

/** A valid report that only this writer may not write. */
function reportOf(name: string): object {
  const spec: NodeReportSpec = {
    nodeUID: UID,
    agentVersion: '0',
    machine: {},
    interfaces: [],
    tools: { guestinfoReadable: false, guestinfoWritable: false },
    claim: { written: false, reason: 'PolicyProof', message: '' },
  }
  return {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: KIND,
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: UID }] },
    spec,
  }
}

function answerOf(error: unknown, agent: LeaseName): PolicyAnswer {
  const cause = messageOf(error)
  if (!(error instanceof ApiError)) return { outcome: 'none', cause }
  const { status } = error
  const plugin = otherPlugin(error, agent)
  if (plugin !== undefined) return { outcome: 'denied-elsewhere', message: unknownBy(plugin), cause }
  // Expired credentials and timeouts are temporary.
  if (status >= 500 || status === 401 || status === 408 || status === 429) return { outcome: 'none', cause }
  if (status === 403 && cause.includes(NOT_READY)) return { outcome: 'none', cause }
  if (status === 403 && cause.includes(REJECTED_BY_POLICY)) return { outcome: 'in-force' }
  return {
    outcome: 'unproven',
    message: unknownBy(obstacle(error, agent)),
    cause,
    ...(mayNotImpersonate(error) ? { mayNotTry: true } : {}),
  }
}

function unknownBy(obstacle: string): string {
  return `whether reports can be forged is unknown: ${obstacle}`
}

/**
 * What another admission plugin that has denied the write keeps from being known. A mutating webhook is asked before all policies,
 * a validating one after them, and of several policies that deny the API server names one alone.
 */
function otherPlugin({ message }: ApiError, agent: LeaseName): string | undefined {
  const exempt = `from it exempt dry runs of NodeReports by ${agent.namespace}/${agent.name}`
  const [, webhook] = DENIED_BY_WEBHOOK.exec(message) ?? []
  if (webhook !== undefined)
    return `the admission webhook ${printable(webhook, 253)} denied a trial write, and a mutating one is asked before the policy ${POLICY}: ${exempt}; a validating one is asked only of what the policy lets pass: apply policy-own-report.yaml`
  const [, policy] = DENIED_BY_POLICY.exec(message) ?? []
  if (policy === undefined || policy === POLICY) return undefined
  return `the policy ${printable(policy, 253)} denied a trial write, and the API server does not say whether ${POLICY} would have: ${exempt}`
}

function mayNotImpersonate({ status, message }: ApiError): boolean {
  return status === 403 && message.includes('cannot impersonate')
}

/** What keeps the check from reaching the policy, and how to remove it. */
function obstacle(error: ApiError, agent: LeaseName): string {
  const { status, reason, message } = error
  const account = `${agent.namespace}/${agent.name}`
  if (mayNotImpersonate(error)) {
    const [, user = 'the controller'] = /User "([^"]*)" cannot/.exec(message) ?? []
    const who = user.replace(/^system:serviceaccount:([^:]+):/, '$1/')
    return `${who} is not allowed to impersonate ${account}; apply rbac.yaml`
  }
  if (status === 403 && message.includes(`User "${userOf(agent)}" cannot`)) {
    return `${account} is not allowed to create and patch NodeReports; apply rbac.yaml`
  }
  if (status === 404) return 'the API server has no NodeReports; apply crd.yaml'
  if (status === 422) return 'the CRD does not take the reports of this version; apply its crd.yaml'
  return (
    `a trial write was answered with ${status}${reason && ` ${reason}`}, and not by the policy ${POLICY}; ` +
    "look for its cause in the controller's log"
  )
}
