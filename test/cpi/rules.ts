/** What the docs say that Rollcall writes to a Node, by rules that take nothing from the product's own code. */
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { isShutDown, type NodeObject } from '../world/objects.ts'
import { brokenAddresses, wrong } from './address-rules.ts'
import type { NodeDifference } from './compare-nodes.ts'
import { addressesOf, ipsOf, labelOf, pairOf } from './differences/row.ts'
import { OTHER_TAINT, SHUTDOWN_TAINT } from './kubelet-node.ts'
import { chainsOf } from './places.ts'
import { type Change, type Label, NO_LIFECYCLE, type Scenario, type ScenarioCase } from './scenario.ts'

interface Written {
  readonly scenario: Scenario
  readonly one: ScenarioCase
  /** The BIOS UUID of its machine. */
  readonly uuid: string
}

const BOTH: readonly Label[] = ['zone', 'region']
const KEYS = ['topology.kubernetes.io', 'failure-domain.beta.kubernetes.io'] as const
const INSTANCE_TYPES = ['node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'] as const

/** A line for each rule that is broken by what is on a Node that Rollcall has initialized. */
export function brokenRules(node: NodeObject, written: Written): readonly string[] {
  const { scenario, one } = written
  // Of two machines with one UUID, its own is the one that runs.
  const running = runningOf(scenario, one)
  const own = running === one ? one : { ...one, vm: running.vm ?? {} }
  return [
    ...providerID(node, written),
    ...topology(node, scenario, own),
    ...instanceType(node, own),
    ...labelsOfArguments(node, written),
    ...otherTaint(node, one),
    ...brokenAddresses(node, scenario, own),
  ]
}

/** One that is there never changes; else it is the BIOS UUID in lower case. */
function providerID({ spec }: NodeObject, { one, uuid }: Written): readonly string[] {
  if (one.node?.providerID !== undefined) return []
  return wrong('its provider ID', spec.providerID, `vsphere://${uuid}`)
}

/** The nearest tag of the first side that has one, under both names; a label of the CSI driver stays. */
function topology({ metadata }: NodeObject, scenario: Scenario, one: ScenarioCase): readonly string[] {
  const { labels: kept = {}, topologyKeys = [] } = one.node ?? {}
  return (scenario.labels ?? BOTH).flatMap((label) => {
    if (topologyKeys.some((key) => key.endsWith(`/${label}`) && kept[key] !== undefined)) return []
    const tagged = taggedValue(scenario, one, label)
    if (tagged === undefined) return []
    return KEYS.map((prefix) => `${prefix}/${label}`).flatMap((key) =>
      wrong(`its label ${key}`, metadata.labels[key], tagged.value ?? kept[key]),
    )
  })
}

/** What its tags say; undefined without a tag, the value undefined where the tag can be no label. */
function taggedValue(
  scenario: Scenario,
  one: ScenarioCase,
  label: Label,
): { readonly value: string | undefined } | undefined {
  const nearest = chainsOf(scenario, one)
    .flat()
    .find((tags) => tags[label].length > 0)
  if (nearest === undefined) return undefined
  const values = nearest[label].map(labelValueOf)
  const has = one.node?.labels?.[`topology.kubernetes.io/${label}`]
  return { value: values.find((value) => value !== undefined && value === has) ?? values[0] }
}

/** A tag's name as a label's value: "-" for what a label may not have; undefined where letters or digits would be lost. */
export function labelValueOf(tag: string): string | undefined {
  const plain = tag.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, '')
  const value = plain.split(/[^A-Za-z0-9_.-]+/).join('-')
  return /[^ -~]/.test(plain) || value.length > 63 ? undefined : value
}

/** How the instance type of a machine of that size begins. */
function sizeOf({ vm: { cpus, memoryMB } = {} }: ScenarioCase): string | undefined {
  if (cpus === undefined || memoryMB === undefined) return undefined
  return `vsphere-vm.cpu-${cpus}.mem-${(memoryMB - (memoryMB % 1024)) / 1024}gb.os-`
}

function instanceType({ metadata }: NodeObject, one: ScenarioCase): readonly string[] {
  const size = sizeOf(one)
  if (size === undefined) return []
  return INSTANCE_TYPES.flatMap((key) => {
    const type = metadata.labels[key] ?? ''
    return type.startsWith(size) ? [] : [`its label ${key} is ${type}, not ${size}`]
  })
}

/** Other taints stay as they are. */
function otherTaint({ spec: { taints = [] } }: NodeObject, { node }: ScenarioCase): readonly string[] {
  const has = taints.some(({ key }) => key === OTHER_TAINT.key)
  return wrong(`its taint ${OTHER_TAINT.key}`, has, node?.otherTaint === true)
}

/** Those of `--node-labels`, but for what the Node had before. */
function labelsOfArguments({ metadata }: NodeObject, { scenario, one }: Written): readonly string[] {
  const { labels: kept = {} } = one.node ?? {}
  const given = new Map(
    scenario.arguments
      ?.flatMap((each) => /^--node-labels=(.*)$/.exec(each)?.[1]?.split(',') ?? [])
      .map((each) => {
        const [key = '', value = ''] = each.split('=')
        return [key, value]
      }),
  )
  return [...given].flatMap(([key, value]) =>
    wrong(`its label ${key}`, metadata.labels[key], kept[key] ?? value),
  )
}

/** A change, and the Node as Rollcall had it, with what was changed on it. */
interface Changed {
  readonly scenario: Scenario
  /** With the change in it. */
  readonly one: ScenarioCase
  readonly change: Change
  readonly before: NodeObject
}

/** The same after a change: nothing on a running Node moves but what has to. */
export function brokenByChange(after: NodeObject, changed: Changed): readonly string[] {
  const { before } = changed
  const keys = [...KEYS.flatMap((prefix) => BOTH.map((label) => `${prefix}/${label}`)), ...INSTANCE_TYPES]
  const had = keys.filter((key) => before.metadata.labels[key] !== undefined)
  return [
    ...(before.spec.providerID === undefined
      ? []
      : wrong('its provider ID', after.spec.providerID, before.spec.providerID)),
    ...had.flatMap((key) =>
      wrong(`its label ${key}`, after.metadata.labels[key], before.metadata.labels[key]),
    ),
    ...keptAddresses(after, changed),
    ...shutdownTaint(after, changed),
  ]
}

/** Each is on the machine or was there before; one that was there and still is on the machine stays. */
function keptAddresses(after: NodeObject, { scenario, one, before }: Changed): readonly string[] {
  if (one.vm?.nics === undefined) return []
  const there = addressesOf(one)
  const [had, has] = [ipsOf(before.status.addresses), ipsOf(after.status.addresses)]
  const strange = has.filter((address) => !there.includes(address) && !had.includes(address))
  // Without a choice of the kubelet's and without settings, nothing is preferred to what a Node has.
  const free = scenario.nodes === undefined && one.node?.nodeIP === undefined
  const lost = free ? had.filter((address) => there.includes(address) && !has.includes(address)) : []
  return [
    ...strange.map((address) => `its address ${address} is none of its machine`),
    ...lost.map((address) => `it lost the address ${address}`),
  ]
}

/** Follows the machine of a Node that was verified while it ran. */
function shutdownTaint(after: NodeObject, { scenario, one, change, before }: Changed): readonly string[] {
  if (change.powerState === undefined || scenario.arguments?.includes(NO_LIFECYCLE) === true) return []
  if (before.metadata.labels[LABEL_IDENTITY_LEVEL] === undefined) return []
  if (one.node?.providerID === 'previous' || pairOf(scenario.cases, one).length > 0) return []
  return wrong('its shutdown taint', isShutDown(after), change.powerState !== 'poweredOn')
}

/** Whether a part of a Node is as this machine is; undefined where the case does not say how that is. */
export function fits(
  part: NodeDifference['part'],
  value: unknown,
  scenario: Scenario,
  machine: ScenarioCase,
): boolean | undefined {
  if (part === 'addresses') {
    const [there, addresses] = [addressesOf(machine), ipsOf(value)]
    return machine.vm?.nics === undefined ? undefined : addresses.every((each) => there.includes(each))
  }
  const label = labelOf(part)
  if (label !== undefined) return value === taggedValue(scenario, machine, label)?.value
  if (part === 'taints') {
    const taints: readonly { readonly key: string }[] = Array.isArray(value) ? value : []
    return taints.some(({ key }) => key === SHUTDOWN_TAINT.key) === (machine.vm?.powerState !== undefined)
  }
  if (!part.endsWith('/instance-type')) return undefined
  const size = sizeOf(machine)
  return size === undefined ? undefined : String(value).startsWith(size)
}

/** Of two machines with one UUID the one that runs, if one alone does; else that of the case itself. */
export function runningOf({ cases }: Scenario, one: ScenarioCase): ScenarioCase {
  const running = pairOf(cases, one).filter(({ vm = {} }) => vm.powerState === undefined)
  return running.length === 1 ? (running[0] ?? one) : one
}
