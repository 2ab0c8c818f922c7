/** What the docs say that Rollcall writes to a Node, by rules that take nothing from the product's own code. */
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { isInitialized, isShutDown, type NodeObject } from '../world/objects.ts'
import { brokenAddresses, familiesOf, wrong } from './address-rules.ts'
import type { NodeDifference } from './compare-nodes.ts'
import { addressesOf, ipsOf, labelOf, pairOf } from './differences/row.ts'
import { OTHER_TAINT, SHUTDOWN_TAINT } from './kubelet-node.ts'
import { chainsOf, isOutOfScope } from './places.ts'
import { type KubeletNode, type Label, NO_LIFECYCLE, type Scenario, type ScenarioCase } from './scenario.ts'

export interface RegisteredCase {
  readonly scenario: Scenario
  readonly one: ScenarioCase
  /** The BIOS UUID of its machine. */
  readonly uuid: string
}

const BOTH: readonly Label[] = ['zone', 'region']
const KEYS = ['topology.kubernetes.io', 'failure-domain.beta.kubernetes.io'] as const
export const INSTANCE_TYPES = [
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
] as const

/** A line for each rule that is broken by what Rollcall has made of a Node as its kubelet registered it. */
export function brokenAtFirst(node: NodeObject | undefined, written: RegisteredCase): readonly string[] {
  if (node === undefined) return ['it is deleted']
  const { scenario, one } = written
  const had = one.node?.shutdownTaint === true
  const verified = node.metadata.labels[LABEL_IDENTITY_LEVEL] !== undefined
  return [
    ...(one.node?.untainted === true
      ? []
      : isInitialized(node)
        ? [...isTooEarly(ownOf(written)), ...brokenRules(node, written)]
        : waitsInVain(scenario, one)),
    ...shutdownTaint(node, { scenario, one, had, verified }),
  ]
}

/** A line for each rule that is broken by what is on a Node that Rollcall has initialized. */
export function brokenRules(node: NodeObject, written: RegisteredCase): readonly string[] {
  return [...brokenButAddresses(node, written), ...brokenAddresses(node, written.scenario, ownOf(written))]
}

/** The same without its addresses, of which one that was initialized before keeps those that it has. */
export function brokenButAddresses(node: NodeObject, written: RegisteredCase): readonly string[] {
  const { scenario, one } = written
  const own = ownOf(written)
  return [
    ...(isOutOfScope(scenario, own) ? ['its machine is in no datacenter that is configured'] : []),
    ...providerID(node, written),
    ...topology(node, scenario, own),
    ...instanceType(node, own),
    ...labelsOfArguments(node, written),
    ...otherTaint(node, one),
  ]
}

/** Of two machines with one UUID, its own is the one that runs. */
function ownOf({ scenario, one }: RegisteredCase): ScenarioCase {
  const running = runningOf(scenario, one)
  return running === one ? one : { ...one, vm: running.vm ?? {} }
}

/** A Node is initialized once its machine runs, is the only one that it can be, and has an address that nothing excludes. */
export function waitsInVain(scenario: Scenario, one: ScenarioCase): readonly string[] {
  const { vm = {}, node = {} } = one
  const waits =
    isOff(one) ||
    vm.gone === true ||
    // What is said of addresses may keep it waiting; without anything it has one of IPv4.
    [vm.nics, node.nodeIP, scenario.nodes].some((each) => each !== undefined) ||
    familiesOf(scenario, one).join() !== 'ipv4' ||
    !namesItsMachine(one, [undefined, ...NAMING]) ||
    !isAlone(scenario.cases, one) ||
    isOutOfScope(scenario, one)
  return waits ? [] : ['it is not initialized']
}

/** No Node is initialized by a machine that does not run. */
function isTooEarly(own: ScenarioCase): readonly string[] {
  return [
    ...(own.vm?.gone === true ? ['its machine is gone'] : []),
    ...(isOff(own) ? ['its machine is off'] : []),
  ]
}

/** The provider IDs by which Rollcall knows a machine. */
const NAMING: readonly KubeletNode['providerID'][] = ['plain', 'upper', 'swapped']

function namesItsMachine({ node = {} }: ScenarioCase, providerIDs: typeof NAMING): boolean {
  const { systemUUID = 'swapped', providerID } = node
  return providerIDs.includes(providerID) && ['swapped', 'plain', 'upper'].includes(systemUUID)
}

/** Whether no other Node of the scenario points to its machine, and it to no other. */
export function isAlone(cases: Scenario['cases'], one: ScenarioCase): boolean {
  const next = cases[cases.indexOf(one) + 1]
  const previous = [one, next].some((each) => each?.node?.providerID === 'previous')
  return !previous && pairOf(cases, one).length === 0
}

/** Whether its machine is off or suspended. */
export function isOff({ vm = {} }: ScenarioCase): boolean {
  return vm.powerState !== undefined
}

/** One that is there never changes; else it is the BIOS UUID in lower case. */
function providerID({ spec }: NodeObject, { one, uuid }: RegisteredCase): readonly string[] {
  if (one.node?.providerID !== undefined) return []
  return wrong('its provider ID', spec.providerID, `vsphere://${uuid}`)
}

/**
 * The nearest tag of the first side that has one, under both names. Where there is no tag, or one that can be no label, what
 * the kubelet wrote stays; so does a label of the CSI driver.
 */
function topology({ metadata }: NodeObject, scenario: Scenario, one: ScenarioCase): readonly string[] {
  const { labels: kept = {}, topologyKeys = [] } = one.node ?? {}
  return BOTH.flatMap((label) => {
    const keys = keysOf(label)
    const drivers = keys.filter((key) => topologyKeys.includes(key) && kept[key] !== undefined)
    const value = drivers.length > 0 ? undefined : taggedValue(scenario, one, label)?.value
    return (drivers.length > 0 ? drivers : keys).flatMap((key) =>
      wrong(`its label ${key}`, metadata.labels[key], value ?? kept[key]),
    )
  })
}

/** The names of a label, the older one last. */
export function keysOf(label: Label): readonly string[] {
  return KEYS.map((prefix) => `${prefix}/${label}`)
}

/** What its tags say of a label that is configured; undefined without a tag, the value undefined where it can be no label. */
export function taggedValue(
  scenario: Scenario,
  one: ScenarioCase,
  label: Label,
): { readonly value: string | undefined } | undefined {
  if (scenario.labels?.includes(label) === false) return undefined
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

/** How the instance type of a machine of that size begins; undefined where the case does not say how large it is. */
export function sizeOf({ vm: { cpus, memoryMB } = {} }: ScenarioCase): string | undefined {
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
function labelsOfArguments({ metadata }: NodeObject, { scenario, one }: RegisteredCase): readonly string[] {
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

/** A Node and its machine, as far as they decide on the taint of one that is off. */
interface TaintOf {
  readonly scenario: Scenario
  readonly one: ScenarioCase
  /** Whether it stood there before. */
  readonly had: boolean
  /** Whether Rollcall has verified which machine the Node is, now or before. */
  readonly verified: boolean
}

/**
 * It follows the machine of a verified Node, Ready or not. One that was never verified has it while it is not Ready, if
 * its provider ID names the machine that is off, and loses it when it is Ready. One that waits does not get it.
 */
export function shutdownTaint(node: NodeObject, taint: TaintOf): readonly string[] {
  const should = shouldHaveTaint(node, taint)
  return should === undefined ? [] : wrong('its shutdown taint', isShutDown(node), should)
}

/** Undefined where the docs leave it open. */
function shouldHaveTaint(node: NodeObject, { scenario, one, had, verified }: TaintOf): boolean | undefined {
  if (scenario.arguments?.includes(NO_LIFECYCLE) === true) return had
  if (!isAlone(scenario.cases, one)) return undefined
  if (one.vm?.gone === true && !isReady(one)) return had
  if (verified) return one.vm?.gone === true ? had : isOff(one)
  if (!isInitialized(node)) return had ? undefined : false
  if (!NAMING.includes(one.node?.providerID)) return had
  if (isReady(one)) return false
  return namesItsMachine(one, NAMING) && !isOutOfScope(scenario, one) ? isOff(one) : undefined
}

function isReady({ node = {} }: ScenarioCase): boolean {
  return node.ready === undefined
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
