/** Where Rollcall means to differ from the CPI: what a row says, and what several rows ask of a case. */
import type { ComparedNode, NodeDifference } from '../compare-nodes.ts'
import type { Label, Scenario, ScenarioCase } from '../scenario.ts'

export interface Difference {
  readonly what: string
  readonly cpi: string
  readonly rollcall: string
  /** Where it does not go without saying. */
  readonly because?: string
}

export interface NodeRow extends Difference {
  /** The CPI differs where it happens to meet the wrong one first, so that no case shows it each time. */
  readonly byChance?: true
  /** Whether this is why they differ there. */
  explains(difference: NodeDifference, compared: ComparedNode): boolean
}

/** Whether this is what comes of it where the CPI gives a Node up, by what Rollcall does to it. */
export function givesUp(part: NodeDifference['part'], { node = {} }: ScenarioCase): boolean {
  return part === (node.untainted === true ? 'addresses' : 'initialized')
}

/** Without their prefix lengths, as VMware Tools report them of the vNICs; one of IPv4 unless the case says more. */
export function addressesOf({ vm = {} }: ScenarioCase): readonly string[] {
  return (vm.nics ?? [{ addresses: ['10.0.0.1/16'] }])
    .filter(({ deviceConfigId }) => deviceConfigId !== -1)
    .flatMap((nic) => nic.addresses.map((address) => address.split('/')[0] ?? ''))
}

/** The label that a part is about; undefined for any other part. */
export function labelOf(part: NodeDifference['part']): Label | undefined {
  const name = /^label (?:topology|failure-domain\.beta)\.kubernetes\.io\/(zone|region)$/.exec(part)?.[1]
  return name === 'zone' || name === 'region' ? name : undefined
}

const BETA_KEYS: Readonly<Record<string, string>> = {
  'topology.kubernetes.io/zone': 'failure-domain.beta.kubernetes.io/zone',
  'topology.kubernetes.io/region': 'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type': 'beta.kubernetes.io/instance-type',
}

/** The label that a part is about and its older name; undefined for any other part, and for the older one. */
export function olderNameOf(
  part: NodeDifference['part'],
): { readonly key: string; readonly beta: string } | undefined {
  const key = part.replace(/^label /, '')
  const beta = BETA_KEYS[key]
  return beta === undefined ? undefined : { key, beta }
}

/** The IP addresses of a Node's list. */
export function ipsOf(addresses: unknown): readonly string[] {
  return withoutHostname(addresses).map(({ address }) => address)
}

/** Wherever in the list it is: no list is written for its order alone. */
export function withoutHostname(
  addresses: unknown,
): readonly { readonly type: string; readonly address: string }[] {
  return Array.isArray(addresses) ? addresses.filter(({ type }) => type !== 'Hostname') : []
}

/** The addresses that this machine reports and another one too. */
export function sharedAddresses(cases: Scenario['cases'], one: ScenarioCase): ReadonlySet<string> {
  // Without NICs in the scenario, each machine has an address of its own.
  const reporting = cases.filter(({ vm }) => vm?.nics !== undefined && vm.gone !== true)
  const others = reporting.filter((each) => each !== one).flatMap(addressesOf)
  return new Set(one.vm?.nics === undefined ? [] : addressesOf(one).filter((each) => others.includes(each)))
}

/** The two machines that have one BIOS UUID, if this is one of them. */
export function pairOf(cases: Scenario['cases'], one: ScenarioCase): readonly ScenarioCase[] {
  const index = cases.indexOf(one)
  const next = cases[index + 1]
  const before = cases[index - 1]
  if (one.vm?.uuidOfPrevious === true && before !== undefined) return [before, one]
  return next?.vm?.uuidOfPrevious === true ? [one, next] : []
}
