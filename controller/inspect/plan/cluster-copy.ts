import type { WriteResult } from '../../kubernetes/node-writer.ts'
import type { Writer } from '../../loops/node/apply/apply.ts'
import { ANNOTATION_DELETION, type Node, type NodeReport } from '../../types/node.ts'

export interface ClusterCopyOptions {
  /** Called after an object was changed or added, as a watch would tell it. */
  readonly onNode: (name: string, current: Node) => void
  readonly onReport: (name: string, current: NodeReport) => void
}

/**
 * The cluster's Nodes and reports in memory. It takes the leader's writes as the API server would, so that the second thing
 * that the leader would do follows from the first; nothing of it leaves the process.
 */
export interface ClusterCopy {
  readonly nodes: ReadonlyMap<string, Node>
  readonly reports: ReadonlyMap<string, NodeReport>
  add(node: Node): void
  addReport(report: NodeReport): void
  readonly writer: Writer
}

export function createClusterCopy({ onNode, onReport }: ClusterCopyOptions): ClusterCopy {
  const nodes = new Map<string, Node>()
  const reports = new Map<string, NodeReport>()
  let version = 0

  function add(node: Node): void {
    nodes.set(node.name, node)
    onNode(node.name, node)
  }

  function addReport(report: NodeReport): void {
    reports.set(report.name, report)
    onReport(report.name, report)
  }

  function write<T extends { readonly resourceVersion: string }>(
    objects: ReadonlyMap<string, T>,
    name: string,
    store: (object: T) => void,
    change: (object: T) => T,
  ): WriteResult<T> {
    const before = objects.get(name)
    if (before === undefined) return { outcome: 'gone' }
    const object = { ...change(before), resourceVersion: `planned-${++version}` }
    store(object)
    return { outcome: 'written', object }
  }

  return {
    nodes,
    reports,
    add,
    addReport,
    writer: {
      patchNodeStatus: async (name, _, { addresses }) =>
        write(nodes, name, add, (node) => ({ ...node, addresses })),
      patchNode: async (name, _, { labels = {}, annotations = {}, providerID, taints }) =>
        write(nodes, name, add, (node) => ({
          ...node,
          labels: merged(node.labels, labels),
          providerID: providerID ?? node.providerID,
          taints: taints ?? node.taints,
          deletionAnnotation: ANNOTATION_DELETION in annotations ? undefined : node.deletionAnnotation,
        })),
      // Never called: nothing is probed here, and without proof nothing is deleted.
      deleteNode: async () => ({ outcome: 'rejected', message: 'a plan deletes nothing' }),
      async createReport({ name }, spec) {
        const object: NodeReport = {
          name,
          uid: `planned-${name}`,
          resourceVersion: `planned-${++version}`,
          generation: 1,
          reportedAt: undefined,
          spec: { ok: true, value: spec },
          status: {},
        }
        addReport(object)
        return { outcome: 'written', object }
      },
      patchReportStatus: async (name, _, status) =>
        write(reports, name, addReport, (report) => ({ ...report, status })),
      recordEvent: () => undefined,
      confirm: async () => true,
    },
  }
}

/** As a JSON merge patch: null removes. */
function merged(
  before: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Readonly<Record<string, string>> {
  const all = Object.entries({ ...before, ...changes })
  return Object.fromEntries(all.flatMap(([key, value]) => (value === null ? [] : [[key, value]])))
}
