/** Where Rollcall means to differ from the CPI: what a row says, and what several rows ask of a case. */
import type { ComparedNode, NodeDifference } from '../compare-nodes.ts'
import type { Label, ScenarioCase } from '../scenario.ts'

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
