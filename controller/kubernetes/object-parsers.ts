import * as v from 'valibot'
import { compact } from '../lib/memory.ts'
import type { Node, NodeReport } from '../types/node.ts'
import { parseNode, parseNodeReport } from './parse-node.ts'

/** Parsers of `v1` Nodes and NodeReports; undefined for anything else. What they return takes little memory. */
export interface ObjectParsers {
  readonly node: (object: unknown) => Node | undefined
  readonly report: (object: unknown) => NodeReport | undefined
}

/** Parsers that watches and writers share, so that a version that was written is not parsed again when the watch shows it. */
export function createObjectParsers(labels?: ReadonlySet<string>): ObjectParsers {
  return {
    node: parseOnce((object) => parseNode(object, labels)),
    report: parseOnce(parseNodeReport),
  }
}

/** Versions that are remembered: a write is answered and shown by the watch within a few hundred others. */
const MOST = 256

const Identified = v.object({
  metadata: v.object({ name: v.string(), uid: v.string(), resourceVersion: v.string() }),
})

/** A version that we write comes twice, in either order: as the answer and by the watch. */
function parseOnce<T extends object>(parse: (object: unknown) => T | undefined) {
  const seen = new Map<string, T>()
  return (object: unknown): T | undefined => {
    if (!v.is(Identified, object)) return undefined
    const { name, uid, resourceVersion } = object.metadata
    const version = `${resourceVersion} ${uid} ${name}`
    const known = seen.get(version)
    if (known !== undefined) {
      seen.delete(version)
      return known
    }
    const parsed = compact(parse(object))
    if (parsed === undefined) return undefined
    const [oldest] = seen.size < MOST ? [] : seen.keys()
    if (oldest !== undefined) seen.delete(oldest)
    seen.set(version, parsed)
    return parsed
  }
}
