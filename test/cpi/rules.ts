/** What the docs say that Rollcall writes to a new Node, for those that the CPI leaves alone. */
import { nearestLabelValue } from '../../controller/types/label-value.ts'
import type { NodeObject } from '../world/objects.ts'
import { chainsOf, valuesIn } from './places.ts'
import type { Label, Scenario, ScenarioCase } from './scenario.ts'

interface Written {
  readonly scenario: Scenario
  readonly one: ScenarioCase
  /** The BIOS UUID of its machine. */
  readonly uuid: string
}

/** A line for each rule that what is on the Node breaks. */
export function brokenRules(node: NodeObject, written: Written): readonly string[] {
  return [
    ...providerID(node, written),
    ...labels(node, written),
    ...instanceType(node, written),
    ...labelsOfArguments(node, written),
    ...addresses(node, written),
  ]
}

/** One that is there never changes; else it is the BIOS UUID in lower case. */
function providerID({ spec }: NodeObject, { one, uuid }: Written): readonly string[] {
  if (one.node?.providerID !== undefined) return []
  return wrong('its provider ID', spec.providerID, `vsphere://${uuid}`)
}

/** The nearest tag of the first side that has one, under both names; a label of the CSI driver stays. */
function labels({ metadata }: NodeObject, { scenario, one }: Written): readonly string[] {
  const chains = chainsOf(scenario, one)
  const { labels: kept = {}, topologyKeys = [], untainted } = one.node ?? {}
  if (untainted === true) return []
  return (scenario.labels ?? (['zone', 'region'] satisfies Label[])).flatMap((label) => {
    if (topologyKeys.some((key) => key.endsWith(`/${label}`) && kept[key] !== undefined)) return []
    const [tag] = chains.flatMap((chain) => valuesIn(chain, label))
    if (tag === undefined) return []
    const value = nearestLabelValue(tag)
    return [`topology.kubernetes.io/${label}`, `failure-domain.beta.kubernetes.io/${label}`].flatMap((key) =>
      wrong(`its label ${key}`, metadata.labels[key], value),
    )
  })
}

function instanceType({ metadata }: NodeObject, { one: { vm = {}, node = {} } }: Written): readonly string[] {
  if (node.untainted === true || vm.cpus === undefined) return []
  const type = metadata.labels['node.kubernetes.io/instance-type'] ?? ''
  return type.startsWith(`vsphere-vm.cpu-${vm.cpus}.`) ? [] : [`its instance type is ${type}`]
}

/** Those of `--node-labels`, but for what the Node had before. */
function labelsOfArguments({ metadata }: NodeObject, { scenario, one }: Written): readonly string[] {
  const { labels: kept = {}, untainted } = one.node ?? {}
  const given = scenario.arguments?.flatMap(
    (each) => /^--node-labels=(.*)$/.exec(each)?.[1]?.split(',') ?? [],
  )
  if (untainted === true || given === undefined) return []
  return given.flatMap((each) => {
    const [key = '', value = ''] = each.split('=')
    return wrong(`its label ${key}`, metadata.labels[key], kept[key] ?? value)
  })
}

/** At least one, each on a vNIC of its machine and none of the kind that reaches no machine; and one name. */
function addresses({ status }: NodeObject, { one }: Written): readonly string[] {
  const all = status.addresses ?? []
  const own = one.vm?.nics
    ?.filter(({ deviceConfigId }) => deviceConfigId !== -1)
    .flatMap((nic) => nic.addresses.map((address) => address.split('/')[0]))
  const chosen = all.filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP')
  const strange = chosen.filter(({ address }) => own?.includes(address) === false || UNUSABLE.test(address))
  return [
    ...(chosen.length === 0 ? ['it has no address'] : []),
    ...strange.map(({ address }) => `its address ${address} is none of its machine`),
    ...wrong('the number of its names', all.filter(({ type }) => type === 'Hostname').length, 1),
  ]
}

const UNUSABLE = /^(127\.|169\.254\.|22[4-9]\.|23\d\.|255\.255\.255\.255$|fe80:|ff|::1$)/

function wrong(what: string, is: unknown, should: unknown): readonly string[] {
  return is === should ? [] : [`${what} is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`]
}
