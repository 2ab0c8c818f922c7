import type { NodeFacts, Settings } from '../decide/facts.ts'
import type { Node, NodeReport } from '../facts/node.ts'
import type { Inventory } from '../facts/vcenter-view.ts'
import { type NodeIndex, reportedUUID } from './node-index.ts'

/** Where facts are read: all of it in memory, none of it a call. */
export interface Sources {
  readonly node: (name: string) => Node | undefined
  readonly report: (name: string) => NodeReport | undefined
  readonly index: NodeIndex
  readonly inventories: readonly Inventory[]
  readonly settings: Settings
}

/** All that is known about one Node at this moment; undefined where there is no such Node. */
export function gather(name: string, sources: Sources, now: number): NodeFacts | undefined {
  const node = sources.node(name)
  if (node === undefined) return undefined
  const report = sources.report(name)
  const uuid = reportedUUID(report)
  return {
    node,
    report,
    lookups:
      uuid === undefined
        ? []
        : sources.inventories.map((inventory) => ({
            vCenter: inventory.vCenter,
            lookup: inventory.lookup(uuid),
          })),
    rivals: uuid === undefined ? [] : rivals(name, uuid, sources),
    nodeNameByUID: sources.index.nameByUID,
    settings: sources.settings,
    now,
  }
}

function rivals(name: string, uuid: string, { index, node, report }: Sources): NodeFacts['rivals'] {
  return index
    .namesByUUID(uuid)
    .filter((other) => other !== name)
    .map((other) => node(other))
    .filter((other) => other !== undefined)
    .map((other) => ({ name: other.name, holdsVM: report(other.name)?.status.vm?.biosUUID === uuid }))
}
