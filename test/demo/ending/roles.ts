import type { ExpectedNode } from '../scene.ts'

/** To which Nodes something happens. The first of all is spared: the forger's victim is looked at to the end. */
export interface Roles {
  readonly destroyed: ExpectedNode
  readonly poweredOff: ExpectedNode
  readonly moved: ExpectedNode
  /** A host of another zone, and that zone. */
  readonly moveTo: { readonly host: string; readonly zone: string }
}

/** The last of the list; throws where there are too few, or all in one zone. */
export function castRoles(nodes: readonly ExpectedNode[]): Roles {
  const [destroyed, poweredOff, moved] = nodes.slice(1).toReversed()
  const there = nodes.find(({ zone }) => moved !== undefined && zone !== moved.zone)
  if (!destroyed || !poweredOff || !moved || !there)
    throw new Error(`the ending needs 4 Nodes in two zones, not ${nodes.length}`)
  return { destroyed, poweredOff, moved, moveTo: { host: there.vm.host, zone: there.zone } }
}
