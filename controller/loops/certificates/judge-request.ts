/**
 * Judges the request of a kubelet for its serving certificate, by what Rollcall decided about its Node. What the Node object
 * says is no evidence, because the kubelet writes it: of the Node only its name, its UID and its age count. Pure.
 */
import ipaddr from 'ipaddr.js'
import type { NodeReportStatus } from '../../../agent/shared/node-report.ts'
import { printable } from '../../../agent/shared/printable.ts'
import type { Result } from '../../../agent/shared/result.ts'
import { type CertificatesConfig, reaches } from '../../config/config.ts'
import { contains } from '../../lib/subnet.ts'
import type { PolicyState } from '../../types/cluster-state.ts'
import type { Node } from '../../types/node.ts'
import type { Reason } from '../../types/reasons.ts'
import type { RequestedCertificate } from './read-pkcs10.ts'

/** A CertificateSigningRequest that nobody has approved or denied yet. */
export interface CertificateRequest {
  readonly name: string
  readonly resourceVersion: string
  /** RFC 3339, seconds. */
  readonly createdAt: string
  /** Who asks, by the API server's own word. */
  readonly username: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
  readonly usages: readonly string[]
  /** What is asked for, or why that cannot be read. */
  readonly content: Result<RequestedCertificate>
}

/** What Rollcall decided about a Node, as far as a certificate depends on it. */
export interface VerifiedNode extends Pick<NodeReportStatus, 'nodeUID' | 'identityLevel' | 'provenUntil'> {
  /** Whether its VM is found and runs. */
  readonly runs: boolean
  /** In their usual text form. */
  readonly addresses: readonly string[]
}

export interface RequestFacts {
  readonly request: CertificateRequest
  /** The Node of the user's name; undefined where there is none. */
  readonly node: Pick<Node, 'name' | 'uid' | 'creationTimestamp' | 'deleting'> | undefined
  /** Undefined where this leader has not decided on it yet. */
  readonly verified: VerifiedNode | undefined
  /** While reports may be forged, Nodes stay as they are, whatever becomes of their VMs. */
  readonly policy: PolicyState
  /** Another Node of this name, or that was verified with this address. */
  readonly holderOf: (nameOrAddress: string) => string | undefined
  readonly settings: CertificatesConfig
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface RequestJudgment {
  /** What is not approved waits, until something changes or the kubelet asks again. */
  readonly verdict: 'approve' | 'wait' | 'deny'
  readonly reason: Reason
  readonly message: string
}

const USER_PREFIX = 'system:node:'
const GROUP = 'system:nodes'
const AUTHENTICATED = 'system:authenticated'
/** What the API server says of the credential that was shown. */
const CREDENTIAL = 'authentication.kubernetes.io/credential-id'
const CLIENT_CERTIFICATE = 'X509SHA256='
const USAGES: readonly string[] = ['digital signature', 'server auth']
const OPTIONAL_USAGE = 'key encipherment'

/** Kinds of addresses that name more than one machine, or none. */
const NO_MACHINES: ReadonlySet<string> = new Set([
  'unspecified',
  'loopback',
  'linkLocal',
  'multicast',
  'broadcast',
  'ipv4Mapped',
])

export function judgeRequest(facts: RequestFacts): RequestJudgment {
  const { request, node, policy } = facts
  const other = notOfKubelet(request)
  if (other !== undefined) return waits('RequestNotOfKubelet', other)
  if (!request.content.ok) return waits('RequestMalformed', request.content.message)
  const { value: content } = request.content
  if (content.commonName !== request.username)
    return waits('RequestNotOfKubelet', `its common name is not the requester, ${quoted(request.username)}`)
  if (!isSame(content.organizations, [GROUP]))
    return waits('RequestNotOfKubelet', `its organization is not exactly ${GROUP}`)
  if (node === undefined)
    return waits('NodeNotVerified', `there is no Node ${quoted(nodeOf(request.username))}`)
  // Both times are the API server's, in seconds.
  if (Date.parse(request.createdAt) < Date.parse(node.creationTimestamp))
    return waits('RequestOlderThanNode', 'it was created for an earlier Node of this name')
  if (policy.state === 'not-in-force')
    return waits('PolicyNotInForce', `nothing new is verified of the Node: ${policy.message}`)
  const unverified = notVerified(facts, node)
  if (unverified !== undefined) return waits('NodeNotVerified', unverified)
  return judgeNames(content, node.name, facts)
}

/** Why nobody but a person should approve a request by who asks and what for. */
function notOfKubelet({ username, groups, extra, usages }: CertificateRequest): string | undefined {
  if (nodeOf(username) === '') return `the requester ${quoted(username)} is not a kubelet`
  if (!isSame(groups, [GROUP, AUTHENTICATED]))
    return `the requester's groups are not exactly ${GROUP} and ${AUTHENTICATED}`
  const { [CREDENTIAL]: credential = [], ...others } = extra
  if (Object.keys(others).length > 0 || !credential.every((each) => each.startsWith(CLIENT_CERTIFICATE)))
    return 'the requester did not authenticate with the client certificate of a kubelet'
  const asked = usages.filter((usage) => usage !== OPTIONAL_USAGE)
  if (!isSame(asked, USAGES))
    return `its usages are not exactly ${USAGES.join(' and ')}, optionally with ${OPTIONAL_USAGE}`
  return undefined
}

/** Why the Node is not known well enough. */
function notVerified(
  { verified, policy, settings, now }: RequestFacts,
  node: Pick<Node, 'uid' | 'deleting'>,
): string | undefined {
  if (node.deleting) return 'the Node is being deleted'
  if (policy.state === 'pending') return 'it is not known yet whether reports can be forged'
  if (verified?.nodeUID !== node.uid) return 'it is not decided yet which VM the Node is'
  const { identityLevel: level, provenUntil, runs } = verified
  const lasts = provenUntil === undefined || Date.parse(provenUntil) > now
  if (level === undefined || !lasts || !reaches(level, settings.require))
    return `the Node must be ${settings.require} and is ${lasts ? (level ?? 'not verified') : 'no longer proven'}`
  return runs ? undefined : 'its VM is not found, or does not run'
}

/** Each name must be one that Rollcall knows to be the Node's. */
function judgeNames(
  { dnsNames, addresses }: RequestedCertificate,
  name: string,
  { verified, holderOf, settings }: RequestFacts,
): RequestJudgment {
  const own = verified?.addresses ?? []
  const otherHolder = (each: string): string | undefined =>
    namesIn(each.toLowerCase(), settings.domains)
      .flatMap((one) => (one === name ? [] : (holderOf(one) ?? [])))
      .find((holder) => holder !== name)
  const notOwn = [
    ...dnsNames.filter((each) => !isNameOf(name, each, settings.domains)),
    ...addresses.filter((each) => !own.includes(each)),
  ]
  for (const each of notOwn) {
    const holder = otherHolder(each)
    if (holder !== undefined)
      return {
        verdict: 'deny',
        reason: 'CertificateDenied',
        message: `${quoted(each)} belongs to the Node ${quoted(holder)}`,
      }
  }
  const [stranger] = notOwn
  if (stranger !== undefined)
    return waits('NameNotVerified', `${quoted(stranger)} is not known to be the Node's name or address`)
  const wrong = dnsNames.find(isReserved) ?? addresses.find((each) => !mayBeServed(each, settings))
  if (wrong !== undefined)
    return waits('NameNotAllowed', `${quoted(wrong)} is not allowed in a kubelet serving certificate`)
  // Whoever joins a machine chooses its name: that may be what another Node's name and a domain come to.
  for (const each of dnsNames) {
    const holder = otherHolder(each)
    if (holder !== undefined)
      return waits('NameNotAllowed', `${quoted(each)} is a name of the Node ${quoted(holder)} as well`)
  }
  return {
    verdict: 'approve',
    reason: 'CertificateApproved',
    message: `for ${[...dnsNames, ...addresses].join(', ')}, which are the Node's`,
  }
}

/** The Node's own name, also with a configured domain after it. */
function isNameOf(node: string, dnsName: string, domains: readonly string[]): boolean {
  return dnsName === node || domains.some((domain) => dnsName === `${node}.${domain}`)
}

/** The names of the Nodes that a DNS name may be of: the name itself, and without each configured domain. */
function namesIn(dnsName: string, domains: readonly string[]): readonly string[] {
  const ends = domains.map((domain) => `.${domain}`).filter((end) => dnsName.endsWith(end))
  return [dnsName, ...ends.map((end) => dnsName.slice(0, -end.length))]
}

/** Labels of letters, digits and hyphens, of which the last is not a number: as Go has it, that would be an address. */
const HOST_NAME =
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*(?!\d+$|0x[0-9a-f]*$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** Names of the API server and of Services: a node may have registered by any name. */
const RESERVED =
  /^(?:localhost|kubernetes)$|^kubernetes\.default$|\.localhost$|\.svc$|\.svc\.|\.cluster\.local$/

function isReserved(dnsName: string): boolean {
  return !HOST_NAME.test(dnsName) || RESERVED.test(dnsName)
}

/** Whether an address is of one machine, and in the networks that Nodes have their addresses in. */
function mayBeServed(address: string, { networks, exclude }: CertificatesConfig): boolean {
  const isIn = (subnets: readonly string[]) => subnets.some((subnet) => contains(subnet, address))
  return !NO_MACHINES.has(ipaddr.parse(address).range()) && isIn(networks) && !isIn(exclude)
}

/** The name of the Node whose kubelet this user is; empty where it is another user. */
export function nodeOf(username: string): string {
  return username.startsWith(USER_PREFIX) ? username.slice(USER_PREFIX.length) : ''
}

/** What a certificate depends on, of what was decided about a Node. */
export function verifiedNode(status: NodeReportStatus): VerifiedNode {
  const { nodeUID, identityLevel, provenUntil, addresses = [], conditions = [] } = status
  const found = conditions.find(({ type }) => type === 'VMFound')
  return {
    ...(nodeUID === undefined ? {} : { nodeUID }),
    ...(identityLevel === undefined ? {} : { identityLevel }),
    ...(provenUntil === undefined ? {} : { provenUntil }),
    runs: found?.status === 'True' && RUNNING.includes(found.reason),
    addresses: addresses.flatMap(({ type, address }) =>
      type !== 'Hostname' && ipaddr.isValid(address) ? [ipaddr.parse(address).toString()] : [],
    ),
  }
}

/** Reasons of VMFound. */
const RUNNING: readonly string[] = ['VMFound', 'VMRuns'] satisfies readonly Reason[]

function isSame(found: readonly string[], wanted: readonly string[]): boolean {
  return found.length === wanted.length && wanted.every((each) => found.includes(each))
}

function waits(reason: Reason, message: string): RequestJudgment {
  return { verdict: 'wait', reason, message }
}

/** Whoever asks has chosen the text. */
function quoted(text: string): string {
  return `"${printable(text, 100)}"`
}
