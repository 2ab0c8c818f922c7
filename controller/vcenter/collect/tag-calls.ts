/** The calls about categories and tags: what they ask, how many there may be, and when vCenter fails as a whole. */
import * as v from 'valibot'
import { eachOf } from '../../lib/tasks.ts'
import type { RESTCall, RESTClient } from '../session/rest.ts'
import { isBadAnswer } from '../session/rest-interfaces.ts'
import { UnansweredError, VCenterError } from '../wire/errors.ts'
import { askTwice, parseTagAnswer } from './tag-answers.ts'

/**
 * Most calls in one read. A vCenter has at most 1,000 categories. How long Nodes wait for tags is limited by time, not by this.
 */
const MAX_CALLS = 2_000
/** After so many unanswered calls and none that was answered, the service itself counts as silent. */
const MAX_UNANSWERED = 16
/** Calls that are made side by side: at a site that is far away, each takes seconds. */
export const AT_ONCE = 4

const Named = v.object({ name: v.string() })
/** Some servers write null for an empty list. */
const IDs = v.nullish(v.array(v.string()))

export function createTagCalls({
  rest,
  stillTells,
}: {
  readonly rest: RESTClient
  /** Whether vCenter tells again any of what it has told before, other than these. */
  readonly stillTells: (ids: readonly string[], signal: AbortSignal) => Promise<boolean>
}) {
  let calls = 0
  /** Of the calls about one tag or category in this read: how many were answered, and how many nobody answered. */
  let answered = 0
  let unanswered = 0
  /** Tags and categories for which nobody answered the last time. */
  const silent = new Set<string>()

  async function ask<const S extends v.GenericSchema>(schema: S, about: RESTCall): Promise<v.InferOutput<S>> {
    if (++calls > MAX_CALLS) {
      throw new VCenterError(
        'Unavailable',
        `the names of tags take more than ${MAX_CALLS} calls; the rest is read later`,
      )
    }
    const answer = await rest.call({ ...about, ofObjects: about.id !== undefined })
    if (about.id !== undefined) answered += 1
    return parseTagAnswer(schema, answer)
  }

  return {
    /** To be called before each read. */
    begin(): void {
      calls = 0
      answered = 0
      unanswered = 0
    },
    /** The IDs of all categories. */
    async listCategories(signal: AbortSignal): Promise<readonly string[]> {
      return (await ask(IDs, { method: 'GET', resource: 'tagging/category', signal })) ?? []
    },
    /** The IDs of the tags of a category. */
    async listTags(category: string, signal: AbortSignal): Promise<readonly string[]> {
      const [action, body] = ['list-tags-for-category', { category_id: category }]
      const about = { method: 'POST', resource: 'tagging/tag', id: category, action, body, signal } as const
      return (await askTwice(() => ask(IDs, about))) ?? []
    },
    async nameOf(kind: 'category' | 'tag', id: string, signal: AbortSignal): Promise<string> {
      const about = { method: 'GET', resource: `tagging/${kind}`, id, signal } as const
      return (await askTwice(() => ask(Named, about))).name
    },
    /**
     * Asks about each, last about those for which nobody answered before, and returns why some are refused. Throws where vCenter
     * fails as a whole, so that it is soon asked again: it fails at every one, or answers for none of the first
     * {@link MAX_UNANSWERED}, and tells nothing of what it has told before.
     */
    async refusals(
      ids: readonly string[],
      work: (id: string) => Promise<VCenterError | undefined>,
      signal: AbortSignal,
    ): Promise<readonly VCenterError[]> {
      const errors: VCenterError[] = []
      await eachOf(
        ids.toSorted((a, b) => Number(silent.has(a)) - Number(silent.has(b))),
        async (id) => {
          const error = await work(id)
          silent.delete(id)
          if (error === undefined) return
          errors.push(error)
          if (!(error instanceof UnansweredError)) return
          silent.add(id)
          const isNone = ++unanswered === MAX_UNANSWERED && answered === 0
          if (isNone && !(await stillTells(ids, signal))) throw error
        },
        { atOnce: AT_ONCE },
      )
      const [error] = errors
      if (error === undefined || errors.length < ids.length || !errors.every(isBadAnswer)) return errors
      if (await stillTells(ids, signal)) return errors
      throw error
    },
  }
}
