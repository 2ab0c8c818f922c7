/** Where a machine's tags are, by the chains in which the CPI looks for them: the host's, the resource pool's, the folders'. */
import { PLACES } from './places.ts'
import type { Label, Scenario, ScenarioCase } from './scenario.ts'

/** Nearest object first, each with its tags. */
export type Chain = readonly Readonly<Partial<Record<Label, string>>>[]

export function chainsOf({ tags = [] }: Scenario, { vm = {} }: ScenarioCase): readonly Chain[] {
  if (vm.second === true) return []
  const { compute, pool, folder } = PLACES[vm.place ?? 'first-host']
  const on = (object: string) =>
    Object.fromEntries(
      tags.filter((each) => each.object === object).map(({ label, tag }) => [label, tag] as const),
    )
  return [compute.map(on), pool.map(on), [vm.tags ?? {}, ...folder.map(on)]]
}

/** The values of a label in a chain, nearest first. */
export function valuesIn(chain: Chain, label: Label): readonly string[] {
  return chain.flatMap((tags) => tags[label] ?? [])
}

/** The chain from which the CPI takes both labels; undefined where none holds both. */
export function chainOfCPI(chains: readonly Chain[]): Chain | undefined {
  return chains.find((chain) =>
    (['zone', 'region'] as const).every((label) => valuesIn(chain, label).length > 0),
  )
}
