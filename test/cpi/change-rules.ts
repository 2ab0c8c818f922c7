/** What the docs say that Rollcall does to a Node when something about it or its machine changes, by code of its own. */
import type { Condition } from '../../agent/shared/node-report.ts'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { isInitialized, isShutDown, type NodeObject } from '../world/objects.ts'
import { brokenAddresses, wrong } from './address-rules.ts'
import { addressesOf, ipsOf } from './differences/row.ts'
import {
  brokenButAddresses,
  INSTANCE_TYPES,
  isAlone,
  isOff,
  keysOf,
  type RegisteredCase,
  shutdownTaint,
  sizeOf,
  taggedValue,
  waitsInVain,
} from './documented-rules.ts'
import { OTHER_TAINT } from './kubelet-node.ts'
import type { Change, Label } from './scenario.ts'

/** A change, whose case has it in it, and the Node as Rollcall had it, with what was changed on it. */
interface Changed extends RegisteredCase {
  readonly change: Change
  readonly before: NodeObject
  /** What Rollcall says of the Node by now. */
  readonly said: readonly Condition[]
}

const BOTH: readonly Label[] = ['zone', 'region']

/** A line for each rule that is broken by what has become of a Node; undefined if it was deleted. */
export function brokenByChange(after: NodeObject | undefined, changed: Changed): readonly string[] {
  const { scenario, one, before } = changed
  const deleted = shouldBeDeleted(changed)
  if (after === undefined || deleted) return wrong('that it is deleted', after === undefined, deleted)
  const had = isShutDown(before)
  return [
    ...(before.spec.providerID === undefined
      ? []
      : wrong('its provider ID', after.spec.providerID, before.spec.providerID)),
    ...(isInitialized(before)
      ? [...wrong('that it is initialized', isInitialized(after), true), ...asItRuns(after, changed)]
      : isInitialized(after)
        ? asNew(after, changed)
        : [...waitsInVain(scenario, one), ...asItRuns(after, changed)]),
    ...otherTaint(after, before),
    ...shutdownTaint(after, { scenario, one, had, verified: isVerified(after, changed) }),
    ...tellsChanges(after, changed),
  ]
}

/** Only a Node whose machine was there before, and which is silent; by the defaults not within the time of a test. */
function shouldBeDeleted({ scenario, one, before }: Changed): boolean {
  return (
    scenario.lifecycle !== undefined &&
    one.vm?.gone === true &&
    one.node?.ready !== undefined &&
    before.metadata.labels[LABEL_IDENTITY_LEVEL] !== undefined
  )
}

/** Now or before: what was verified stays so. */
function isVerified(after: NodeObject, { before, said }: Pick<Changed, 'before' | 'said'>): boolean {
  return (
    [before, after].some(({ metadata }) => metadata.labels[LABEL_IDENTITY_LEVEL] !== undefined) ||
    said.some(({ type, status }) => type === 'IdentityVerified' && status === 'True')
  )
}

/** A Node that was initialized by the change: one that had been before keeps its addresses. */
function asNew(after: NodeObject, changed: Changed): readonly string[] {
  const { scenario, one, before } = changed
  const again = before.metadata.labels[LABEL_IDENTITY_LEVEL] !== undefined
  return [
    ...brokenButAddresses(after, changed),
    ...(again ? keptAddresses(after, changed) : brokenAddresses(after, scenario, one)),
  ]
}

/** Nothing on a running Node moves but what has to. */
function asItRuns(after: NodeObject, changed: Changed): readonly string[] {
  const { labels: had } = changed.before.metadata
  const { labels: has } = after.metadata
  const keys = [...BOTH.flatMap(keysOf), ...INSTANCE_TYPES]
  return [
    ...keys.flatMap((key) => (had[key] === undefined ? [] : wrong(`its label ${key}`, has[key], had[key]))),
    ...BOTH.flatMap((label) => addedLabels(label, after, changed)),
    ...keptAddresses(after, changed),
  ]
}

/** One that is lacking is added, unless its other name has another value; on a Node that is not verified none is. */
function addedLabels(label: Label, after: NodeObject, changed: Changed): readonly string[] {
  const { scenario, one, before } = changed
  // Whether it is added while the machine is off, or may be either of two, is left open.
  if (isOff(one) || !isAlone(scenario.cases, one)) return []
  const had = keysOf(label).flatMap((key) => before.metadata.labels[key] ?? [])
  const isSeen = isInitialized(after) && isVerified(after, changed) && one.vm?.gone !== true
  const value = isSeen ? taggedValue(scenario, one, label)?.value : undefined
  const should = had.every((each) => each === value) ? value : undefined
  return keysOf(label).flatMap((key) =>
    before.metadata.labels[key] === undefined
      ? wrong(`its label ${key}`, after.metadata.labels[key], should)
      : [],
  )
}

/** Each is on the machine or was there before; one that was there and still is on the machine stays. So does its name. */
function keptAddresses(after: NodeObject, { scenario, one, before }: Changed): readonly string[] {
  const names = wrong('its list of names', namesOf(after), namesOf(before))
  if (one.vm?.nics === undefined) return names
  const there = addressesOf(one)
  const [had, has] = [ipsOf(before.status.addresses), ipsOf(after.status.addresses)]
  const strange = has.filter((address) => !there.includes(address) && !had.includes(address))
  // Without a choice of the kubelet's and without settings, nothing is preferred to what a Node has.
  const free = scenario.nodes === undefined && one.node?.nodeIP === undefined
  const lost = free ? had.filter((address) => there.includes(address) && !has.includes(address)) : []
  return [
    ...names,
    ...strange.map((address) => `its address ${address} is none of its machine`),
    ...lost.map((address) => `it lost the address ${address}`),
  ]
}

function namesOf({ status: { addresses = [] } }: NodeObject): readonly string[] {
  return addresses.filter(({ type }) => type === 'Hostname').map(({ address }) => address)
}

/** What a person puts on a Node stays. */
function otherTaint({ spec: { taints = [] } }: NodeObject, before: NodeObject): readonly string[] {
  const [has, had] = [taints, before.spec.taints ?? []].map((each) =>
    each.some(({ key }) => key === OTHER_TAINT.key),
  )
  return wrong(`its taint ${OTHER_TAINT.key}`, has, had)
}

/** Where labels stay although vCenter says something else, the condition `TopologyResolved` tells it. */
function tellsChanges(after: NodeObject, changed: Changed): readonly string[] {
  const { scenario, one, said } = changed
  const isSeen = isInitialized(after) && isVerified(after, changed) && !isOff(one) && one.vm?.gone !== true
  if (!isSeen || !isAlone(scenario.cases, one)) return []
  const { labels } = after.metadata
  const differing = BOTH.flatMap((label) => {
    const value = taggedValue(scenario, one, label)?.value
    return keysOf(label).filter(
      (key) => value !== undefined && labels[key] !== undefined && labels[key] !== value,
    )
  })
  const size = sizeOf(one) ?? ''
  const sized = INSTANCE_TYPES.filter((key) => labels[key]?.startsWith(size) === false)
  const resolved = said.find(({ type }) => type === 'TopologyResolved')
  return [...differing, ...sized].flatMap((key) =>
    resolved?.status === 'False' ? [] : [`it does not tell that its label ${key} stays`],
  )
}
