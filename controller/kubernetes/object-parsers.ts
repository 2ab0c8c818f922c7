import * as v from 'valibot'
import type { Node, NodeReport } from '../types/node.ts'
import { parseNode, parseNodeReport } from './parse-node.ts'

/** A parser for one kind of object, undefined for anything else. */
interface ObjectParser<T> {
  /** Parses the answer to a write. */
  answer(object: unknown): T | undefined
  /** Parses what a watch or a list shows; an answer that was parsed is not parsed again. */
  shown(object: unknown): T | undefined
}

/** Parsers for `v1` Nodes and NodeReports, shared by a writer and its two informers. */
export interface ObjectParsers {
  readonly node: ObjectParser<Node>
  readonly report: ObjectParser<NodeReport>
}

/** @param labels those of Nodes that are kept; by default all */
export function createObjectParsers(labels?: ReadonlySet<string>): ObjectParsers {
  return {
    node: createObjectParser((object) => parseNode(object, labels)),
    report: createObjectParser(parseNodeReport),
  }
}

/**
 * Answers kept until the watch shows them: more than there are writes at once, and few, because each may be as large as a kubelet
 * makes its Node.
 */
const MOST = 32

const Identified = v.object({
  metadata: v.object({ name: v.string(), uid: v.string(), resourceVersion: v.string() }),
})

function createObjectParser<T extends object>(parse: (object: unknown) => T | undefined): ObjectParser<T> {
  const answers = new Map<string, T>()
  return {
    answer(object) {
      const parsed = parse(object)
      const version = versionOf(object)
      if (parsed === undefined || version === undefined) return parsed
      const [oldest] = answers.size < MOST ? [] : answers.keys()
      if (oldest !== undefined) answers.delete(oldest)
      answers.set(version, parsed)
      return parsed
    },
    shown(object) {
      const version = versionOf(object) ?? ''
      const known = answers.get(version)
      answers.delete(version)
      return known ?? parse(object)
    },
  }
}

function versionOf(object: unknown): string | undefined {
  if (!v.is(Identified, object)) return undefined
  const { name, uid, resourceVersion } = object.metadata
  return `${resourceVersion} ${uid} ${name}`
}
