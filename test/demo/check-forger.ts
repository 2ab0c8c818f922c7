import type { ObservedEvent } from './events.ts'
import type { Snapshot } from './observe.ts'
import type { DemoForger } from './scene.ts'
import { UNINITIALIZED } from './view.ts'

/** What the forger must be refused for: the VM itself says which Node it is. */
export const REFUSED_BECAUSE = 'ClaimedByAnotherNode'

export interface ForgeryEvidence {
  /** When all others were there, and the forger was not. */
  readonly before: Snapshot
  /** When all was over. */
  readonly after: Snapshot
  /** On the forger's Node. */
  readonly events: readonly ObservedEvent[]
}

/**
 * Whether the forger got nothing, was told why, and its victim was left alone.
 *
 * @returns one sentence for each thing that is not so
 */
export function checkForger(
  { pretense: { name }, victim }: Pick<DemoForger, 'pretense' | 'victim'>,
  { before, after, events }: ForgeryEvidence,
): string[] {
  const problems: string[] = []
  const expect = (holds: boolean, problem: string) => {
    if (!holds) problems.push(`${name}: ${problem}`)
  }
  const node = after.nodes.get(name)
  expect(node !== undefined, 'the Node is not there')
  expect(
    node === undefined || node.spec.taints?.some(({ key }) => key === UNINITIALIZED) === true,
    `lost the taint ${UNINITIALIZED}`,
  )
  expect(node?.spec.providerID === undefined, `got the provider ID ${node?.spec.providerID}`)

  const { conditions = [], identityLevel, vm } = after.reports.get(name)?.status ?? {}
  const current = conditions.find(({ type }) => type === 'IdentityVerified')
  const said = current === undefined ? 'missing' : `${current.status}, ${current.reason}`
  const wanted = `False, ${REFUSED_BECAUSE}`
  expect(said === wanted, `its condition IdentityVerified is ${said}, expected ${wanted}`)
  expect(identityLevel === undefined, `its identity level is ${identityLevel}`)
  expect(vm === undefined, `it was bound to the VM ${vm?.name}`)
  const warned = events.some(({ type, reason }) => type === 'Warning' && reason === REFUSED_BECAUSE)
  expect(warned, `no Warning ${REFUSED_BECAUSE} stands on its Node`)

  for (const [what, then, now] of [
    ['Node', before.nodes.get(victim.name), after.nodes.get(victim.name)],
    ['NodeReport', before.reports.get(victim.name), after.reports.get(victim.name)],
  ] as const) {
    const same = then !== undefined && JSON.stringify(then) === JSON.stringify(now)
    if (!same) problems.push(`${victim.name}: its ${what} is not what it was before ${name} came`)
  }
  return problems
}
