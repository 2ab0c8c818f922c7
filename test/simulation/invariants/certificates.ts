/**
 * Which serving certificates may be approved: those for which the truth of the world speaks, whatever a request, a Node and its
 * kubelet say. Excepted is what nobody outside of a Node's VM can know: which of two machines asks that have the credential of one
 * Node, and an address that a machine has taken which nobody else is known to have.
 */
import ipaddr from 'ipaddr.js'
import type { RequestTruth } from '../model/certificates.ts'
import type { Machine } from '../model/machine.ts'
import { isDeparting, type StoredNode, type StoredRequest, type StoredStatus } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import { reportedAddress } from './addresses.ts'
import { isLeaderWell } from './leader.ts'
import { isItsOwn } from './own-addresses.ts'

/** For how long a controller may act on what was so, milliseconds. */
const LATELY = 90_000
/** The same of what the API server has told, where nothing has kept the leader from hearing it for so long. */
const TOLD = { at: 5_000, wellFor: 30_000 }
/** How often all is looked at, milliseconds: a Node may have gone at any time since. */
const LOOKED = 5_000
/** Of one Node, by one leader: so many at once, and one more after each of these times, milliseconds. */
const AT_ONCE = 6
const ONE_MORE = 600_000

const USAGES = ['digital signature', 'server auth', 'key encipherment']

export interface CertificateJudge {
  look(world: World): void
  decided(world: World, by: string, request: StoredRequest): void
}

export function createCertificateJudge(): CertificateJudge {
  /** Nodes as they were seen last, by name. */
  const seen = new Map<string, { readonly node: StoredNode; readonly at: number }>()
  /** Since when they are being deleted, by UID. */
  const departing = new Map<string, number>()
  /** When they were seen first, by UID. */
  const registered = new Map<string, number>()
  let unwellAt = 0
  const ranAt = new WeakMap<Machine, number>()
  /** When approvals were written, by process and UID of the Node. */
  const approvals = new Map<string, readonly number[]>()

  function lookAt({ judge, api, vCenters, timeline: { now } }: World, machine: Machine): void {
    const { lastVM, power, destroyed } = machine
    const ran = now - (ranAt.get(machine) ?? Number.NEGATIVE_INFINITY) <= LATELY
    // While a vCenter does not answer the leader, what was known before counts, as docs/certificates.md says: it may be there now.
    const isUnknown =
      lastVM !== undefined && !vCenters.every((each) => judge.canAsk(api.holder.identity, each))
    if ((power === 'poweredOn' && !destroyed) || (ran && isUnknown)) ranAt.set(machine, now)
  }

  /** Why a request should not have been approved. */
  function whyNot(world: World, by: string, request: StoredRequest, asked: RequestTruth): string | undefined {
    const { timeline, api, judge, settings } = world
    const lately = (at: number | undefined, ms = LATELY): boolean => timeline.now - (at ?? -Infinity) <= ms
    const told = lately(unwellAt, TOLD.wellFor) ? LATELY : TOLD.at
    const { machine, commonName, organizations, usages, username, dnsNames, addresses } = asked
    if (machine === undefined) return `${username} is no kubelet`
    const name = machine.nodeName
    if (commonName !== username) return `it is in the name of ${commonName}`
    if (organizations.join() !== 'system:nodes') return `it is for a member of ${organizations.join()}`
    if (!usages.every((usage) => USAGES.includes(usage)) || !usages.includes('server auth'))
      return `it is for ${usages.join()}`
    const last = seen.get(name)
    const node = api.nodes.get(name) ?? (lately(last?.at, told + LOOKED) ? last?.node : undefined)
    if (node === undefined) return 'there is no such Node'
    const { uid, creationTimestamp } = node.metadata
    if (isDeparting(node) && !lately(departing.get(uid) ?? timeline.now, told))
      return 'its Node is being deleted'
    const isOld = request.metadata.creationTimestamp < creationTimestamp
    if (isOld && !lately(registered.get(uid) ?? timeline.now, told))
      return `it is of before ${creationTimestamp}, when the Node registered`
    const machines = machinesOf(world, uid)
    // Of a Node that has registered this moment a leader may know the one before.
    const all = machines.length === 0 ? [machine] : machines
    for (const each of all) lookAt(world, each)
    const others = dnsNames.filter((each) => !isNameOf(name, each, settings.certificates.domains))
    if (others.length > 0) return `${others.join()} is not its name`
    const foreign = addresses.filter((each) => !all.some((one) => hasAddress(world, by, one, each)))
    if (foreign.length > 0) return `${foreign.join()} is not its address`
    const outside = addresses.find((each) => !mayBeServed(each, world))
    if (outside !== undefined) return `${outside} may be in no certificate`
    if (judge.taken.has(uid)) return undefined
    if (settings.certificates.require === 'proven' && !all.some((one) => one.hasClaimed === uid))
      return 'its VM has never shown its claim'
    if (!all.some((one) => lately(ranAt.get(one)))) return 'its machine does not run'
    const key = `${by} ${uid}`
    const lasting = (approvals.get(key) ?? []).filter((at) => timeline.now - at < AT_ONCE * ONE_MORE)
    approvals.set(key, [...lasting, timeline.now])
    const allowed = AT_ONCE + (timeline.now - (lasting[0] ?? timeline.now)) / ONE_MORE
    return lasting.length > allowed ? `it is one of ${lasting.length + 1} of this Node` : undefined
  }

  return {
    look(world) {
      const { api, machines, timeline } = world
      if (!isLeaderWell(world)) unwellAt = timeline.now
      for (const node of api.nodes.values()) {
        const { name, uid } = node.metadata
        seen.set(name, { node, at: timeline.now })
        if (!registered.has(uid)) registered.set(uid, timeline.now)
        if (isDeparting(node) && !departing.has(uid)) departing.set(uid, timeline.now)
      }
      for (const machine of machines.all) lookAt(world, machine)
    },
    decided(world, by, request) {
      const { name } = request.metadata
      const asked = world.certificates.asked.get(name)
      if (asked === undefined) return
      const [decision] = request.status.conditions
      world.timeline.note(`${by} says ${decision?.type} to ${name}: ${decision?.message}`)
      if (decision?.type === 'Denied') {
        if (!isOfAnother(world, asked, seen, LATELY))
          world.judge.violate('only what is of another Node is denied', `${by} denies ${text(name, asked)}`)
        return
      }
      const why = whyNot(world, by, request, asked)
      if (why !== undefined)
        world.judge.violate(
          "no certificate is approved but for what is its own Node's",
          `${by} approves ${text(name, asked)}: ${why}`,
        )
    },
  }
}

function text(name: string, { username, dnsNames, addresses }: RequestTruth): string {
  return `${name} of ${username} for ${[...dnsNames, ...addresses].join(', ')}`
}

function isNameOf(node: string, dnsName: string, domains: readonly string[]): boolean {
  return [node, ...domains.map((domain) => `${node}.${domain}`)].includes(dnsName)
}

/** Whether an address is that of a machine, or one that it says is its own while nobody else is known to have it. */
function hasAddress(world: World, by: string, machine: Machine, address: string): boolean {
  const { api, machines } = world
  if (machine.address === address) return true
  const says = machine.squats === address || isItsOwn(world, by, machine, address)
  if (!says && !isKept(world, machine, address)) return false
  const others = machines.all.filter((each) => each !== machine && each.address === address)
  return !others.some(({ nodeName, nodeUID }) => {
    const node = api.nodes.get(nodeName)
    return node?.metadata.uid === nodeUID && node?.status.addresses.some((each) => each.address === address)
  })
}

/** Whether a Node keeps an address that its machine had, as long as another Node has that machine's new one. */
function isKept({ api }: World, { nodeName }: Machine, address: string): boolean {
  const { addresses, conditions } = api.reports.get(nodeName)?.status ?? {}
  return (
    conditions?.some(({ reason }) => reason === 'AddressOfAnotherNode') === true &&
    addresses?.some((each) => each.address === address) === true
  )
}

function mayBeServed(address: string, { settings }: World): boolean {
  const { networks, exclude } = settings.certificates
  const isIn = (subnets: readonly string[]): boolean =>
    subnets.some((subnet) => {
      const [ip, [range, bits]] = [ipaddr.parse(address), ipaddr.parseCIDR(subnet)]
      return ip.kind() === range.kind() && ip.match(range, bits)
    })
  return ipaddr.parse(address).range() === 'private' && isIn(networks) && !isIn(exclude)
}

/** Whether a request is for the name or an address of another Node that there is, or was lately. */
function isOfAnother(
  world: World,
  { username, dnsNames, addresses }: RequestTruth,
  seen: ReadonlyMap<string, { readonly node: StoredNode; readonly at: number }>,
  lately: number,
): boolean {
  const { api, machines, timeline, settings } = world
  const others = [...seen].flatMap(([name, { node, at }]) => {
    const isThere = api.nodes.has(name) || timeline.now - at <= lately
    return isThere && username !== `system:node:${name}` ? [api.nodes.get(name) ?? node] : []
  })
  return others.some(({ metadata: { name }, status }) => {
    const has = [
      ...status.addresses.map(({ address }) => address),
      ...machines.all.flatMap((each) =>
        each.nodeName === name ? [each.address, each.squats, reportedAddress(world, each)] : [],
      ),
    ]
    return (
      dnsNames.some((each) => isNameOf(name, each.toLowerCase(), settings.certificates.domains)) ||
      addresses.some((each) => has.includes(each))
    )
  })
}

/** In the end, the kubelet of a Node that is known well enough serves by a certificate for all of its names. */
export function judgeServing(
  world: World,
  node: StoredNode,
  machine: Machine,
  status: StoredStatus | undefined,
): void {
  const { api, judge, settings, certificates } = world
  const { name, uid } = node.metadata
  const { approve, require } = settings.certificates
  if (!approve || status === undefined || judge.taken.has(uid)) return
  const said = (type: string) => status.conditions.find((each) => each.type === type)
  const mine = [...certificates.asked].filter(([, { machine: its }]) => its === machine)
  const waits = mine.filter(([request]) => api.requests.get(request)?.status.conditions.length === 0)
  const serving = said('ServingCertificate')
  if (waits.length > 0 && serving === undefined)
    judge.violate(
      'whose request waits is told why',
      `${name} waits for ${waits.map(([each]) => each).join()}`,
    )
  const { identityLevel: level, provenUntil } = status
  const isKnown =
    level === 'proven' ? provenUntil === undefined : level === 'reported' && require === 'reported'
  const found = said('VMFound')
  const runs = found?.status === 'True' && ['VMFound', 'VMRuns'].includes(found.reason)
  if (!isKnown || !runs || said('Initialized')?.status !== 'True') return
  if (machine.power !== 'poweredOn' || !machine.kubelet || !machine.linked) return
  const names = certificates.namesOf(machine)
  if (names === undefined || !names.addresses.every((each) => mayBeServed(each, world))) return
  // Whoever has asked so often gets the next one when the rate allows, perhaps later than the end.
  if (serving?.reason === 'TooManyRequests' && mine.length > AT_ONCE) return
  if (!certificates.serves(machine))
    judge.violate(
      'a right request is approved in the end',
      `${name} asks for ${names.addresses.join()}: ${serving?.reason} ${serving?.message}`,
    )
}
