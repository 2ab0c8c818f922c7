import * as v from 'valibot'
import { AnswerTooLongError, type KubeClient } from './client.ts'

/** Objects per page at first. One of ordinary Nodes is some 2.5 MB of JSON, and ten times as much while it is read. */
const PAGE_SIZE = 250
/** Pages of a list: half a million objects. */
const MAX_PAGES = 1_000
/** The API server's own limit for any request but a watch. */
const PAGE_TIMEOUT = 60_000

const Page = v.object({
  metadata: v.object({
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
    continue: v.optional(v.string(), ''),
  }),
  items: v.nullish(v.array(v.unknown()), []),
})

/** Which objects. */
export interface ListQuery {
  /** Of the collection, as `/api/v1/nodes`. */
  readonly path: string
  /** As `metadata.name=a`; by default all. */
  readonly fieldSelector?: string | undefined
}

/** The selector as a request has it. */
export function selectorOf({ fieldSelector }: ListQuery): Readonly<Record<string, string>> {
  return fieldSelector === undefined ? {} : { fieldSelector }
}

/**
 * Reads a whole list, page by page, as it is in etcd now (an API server's cache may lag behind). Where a page is too long to
 * be read, half as many objects are asked for: a kubelet may make its own Node a hundred times as long as others are.
 *
 * @param onObject called with each object once; nothing else of a page is kept
 * @returns the resourceVersion from which to watch
 * @throws as `KubeClient.request`; Error for an answer that is not a list, and for a list that never ends
 */
export async function readList(
  client: KubeClient,
  list: ListQuery,
  onObject: (object: unknown) => void,
  signal: AbortSignal,
): Promise<string> {
  const { path } = list
  const tokens = new Set<string>()
  let limit = PAGE_SIZE

  async function request(token: string): Promise<unknown> {
    const query = { ...selectorOf(list), limit: String(limit), ...(token && { continue: token }) }
    try {
      return await client.request({ method: 'GET', path, query, timeout: PAGE_TIMEOUT, signal })
    } catch (error) {
      if (!(error instanceof AnswerTooLongError) || limit === 1) throw error
      limit = Math.floor(limit / 2)
      return request(token)
    }
  }

  for (let token = ''; tokens.size < MAX_PAGES; tokens.add(token)) {
    const page = v.safeParse(Page, await request(token))
    if (!page.success) throw new Error(`GET ${path} was answered with something that is not a list`)
    const items = page.output.items ?? []
    for (const object of items) onObject(object)
    token = page.output.metadata.continue
    if (!token) return page.output.metadata.resourceVersion
    if (items.length === 0)
      throw new Error(`GET ${path} was answered with an empty page that is not the last`)
    if (tokens.has(token))
      throw new Error(`GET ${path} was answered with a page that goes back to an earlier one`)
  }
  throw new Error(`GET ${path} was answered with more than ${MAX_PAGES} pages`)
}

/**
 * Reads a whole list, without those of its objects that the parser does not take.
 *
 * @throws as {@link readList}
 */
export async function collect<T>(
  client: KubeClient,
  list: ListQuery,
  parse: (object: unknown) => T | undefined,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const found: T[] = []
  const keep = (object: unknown): void => {
    const parsed = parse(object)
    if (parsed !== undefined) found.push(parsed)
  }
  await readList(client, list, keep, signal)
  return found
}

/** The same by their names. */
export async function readAll<T extends { readonly name: string }>(
  ...list: Parameters<typeof collect<T>>
): Promise<ReadonlyMap<string, T>> {
  return new Map((await collect<T>(...list)).map((each) => [each.name, each]))
}
