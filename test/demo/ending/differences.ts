import type { ObservedNode } from '../view.ts'

/**
 * Where two states of a Node differ, as "spec.taints"; none where they are the same, byte for byte. Left out is what
 * changes with every write, and the condition Ready, which the demo writes in the place of kubelets.
 */
export function differences(before: ObservedNode, after: ObservedNode): string[] {
  return compare(comparable(before), comparable(after), '')
}

function comparable({ metadata, status, ...rest }: ObservedNode): object {
  const { resourceVersion: _, managedFields: __, ...kept } = metadata
  const { conditions = [], ...others } = status
  return {
    ...rest,
    metadata: kept,
    status: { ...others, conditions: conditions.filter(({ type }) => type !== 'Ready') },
  }
}

function compare(before: unknown, after: unknown, path: string): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (!isRecord(before) || !isRecord(after)) return [path]
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  const deeper = [...keys].flatMap((key) =>
    compare(before[key], after[key], path === '' ? key : `${path}.${key}`),
  )
  // The same keys and values in another order are another text.
  return deeper.length > 0 ? deeper : [path]
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
