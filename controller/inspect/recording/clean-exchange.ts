/** One call to vCenter with its answer, as a recording has it. The form stays; all else that kept.ts does not list is replaced. */

import { serverKey, type VCenterConfig } from '../../config/config.ts'
import { createCharacterReader } from '../../vcenter/wire/characters.ts'
import { type HTTPAnswer, type HTTPRequest, openConnection } from '../../vcenter/wire/connection.ts'
import { VERSIONS_PATH } from '../../vcenter/wire/soap.ts'
import { type CleaningOptions, cleanXML } from './clean-xml.ts'
import { CONTENT_TYPES, isKind, KEYS, QUERY, SEGMENTS, SENTENCES, URN } from './kept.ts'
import type { Pseudonyms } from './pseudonyms.ts'

/** A call as it was made. */
export interface RawExchange {
  readonly method: string
  readonly path: string
  readonly body: string | undefined
  readonly status: number
  readonly contentType: string
  /** Undefined where it was not read to its end. */
  readonly answer: Buffer | undefined
}

/** A call as it is recorded. Documents are lists of lines, to be read by people. */
export interface Exchange {
  /** `SOAP Login`, or method and path of a REST call. */
  readonly call: string
  readonly request: readonly string[]
  readonly status: number
  readonly contentType: string
  readonly answer: readonly string[]
  /** Objects that were left out of a long answer. */
  readonly leftOut?: number
}

/** Calls whose parameters are secrets: nothing of them is kept, and both count as the same. */
const LOGINS: ReadonlySet<string> = new Set(['Login', 'CloneSession'])

/** @throws where the request is none of Rollcall's own */
export function cleanExchange(raw: RawExchange, options: CleaningOptions): Exchange {
  const { status } = raw
  const contentType = CONTENT_TYPES.has(raw.contentType) ? raw.contentType : 'another'
  if (raw.path === VERSIONS_PATH)
    return {
      call: `GET ${VERSIONS_PATH}`,
      request: [],
      status,
      contentType,
      answer: cleanAnswer(raw.answer, options).lines,
    }
  if (raw.path !== '/sdk') return { ...cleanREST(raw, options), status, contentType }
  const operation = operationOf(raw.body ?? '')
  const login = LOGINS.has(operation)
  const answer = cleanAnswer(raw.answer, options)
  return {
    call: `SOAP ${login ? 'Login' : operation}`,
    request: login ? [] : cleanXML((raw.body ?? '').replace(HEADER, ''), options).lines,
    status,
    contentType,
    answer: answer.lines,
    ...(answer.leftOut > 0 ? { leftOut: answer.leftOut } : {}),
  }
}

/** Another for each call. */
const HEADER = /<soapenv:Header>.*?<\/soapenv:Header>/

/** The operation of a request; empty where it is not one of SOAP. */
export function operationOf(body: string): string {
  return /<soapenv:Body><(\w+)/.exec(body)?.[1] ?? ''
}

/** What is no SOAP answer is left out as a whole: an HTML page of a proxy may say anything. */
function cleanAnswer(answer: Buffer | undefined, options: CleaningOptions) {
  if (answer === undefined) return { lines: [], leftOut: 0 }
  const reader = createCharacterReader()
  const text = reader.read(answer) + reader.end()
  try {
    return cleanXML(text, options)
  } catch {
    return { lines: [], leftOut: 0 }
  }
}

function cleanREST({ method, path, body, answer }: RawExchange, { names }: CleaningOptions) {
  const [plain = '', query] = path.split('?')
  const segments = plain.split('/').map((each) => {
    if (SEGMENTS.has(each)) return each
    const id = decodeURIComponent(each.replace(/^id:/, ''))
    return `${each.startsWith('id:') ? 'id:' : ''}${encodeURIComponent(cleanID(id, names))}`
  })
  const asked = query === undefined ? '' : `?${QUERY.test(query) ? query : names.text(query)}`
  return {
    call: `${method} ${segments.join('/')}${asked}`,
    request: cleanJSON(body, names),
    answer: cleanJSON(answer?.toString('utf8'), names),
  }
}

function cleanJSON(text: string | undefined, names: Pseudonyms): readonly string[] {
  if (text === undefined || text === '') return []
  try {
    const document: unknown = JSON.parse(text)
    return JSON.stringify(cleanValue(document, '', names), undefined, 1).split('\n')
  } catch {
    return []
  }
}

function cleanValue(value: unknown, key: string, names: Pseudonyms): unknown {
  if (Array.isArray(value)) return value.map((each) => cleanValue(each, key, names))
  if (value instanceof Object) {
    const { type, id } = { type: undefined, id: undefined, ...value }
    if (typeof type === 'string' && typeof id === 'string' && isKind(type))
      return { type, id: names.moref(id, type) }
    return Object.fromEntries(
      Object.entries(value).map(([each, inner]) => [
        KEYS.has(each) ? each : names.text(each),
        cleanValue(inner, each, names),
      ]),
    )
  }
  if (typeof value === 'number') return 0
  if (typeof value !== 'string') return value
  if (key === 'cardinality' && /^(?:SINGLE|MULTIPLE)$/.test(value)) return value
  if ((key === 'type' || key === 'associable_types') && isKind(value)) return value
  return SENTENCES.has(key) ? names.sentence(value) : cleanID(value, names)
}

/** A text, or the identifier of a tag or a category. */
function cleanID(text: string, names: Pseudonyms): string {
  return names.text(
    text,
    /^urn:vmomi:InventoryService(?:Tag|Category):[^:]*:GLOBAL$/.test(text) ? URN : undefined,
  )
}

/** Bytes of one answer, and of all together: what is longer is not recorded. */
const MAX_ANSWER = 16 << 20
const MAX_BYTES = 128 << 20

/** A way to connect that keeps what one vCenter is asked and answers. */
export function createRecorder(config: VCenterConfig) {
  const exchanges: RawExchange[] = []
  let total = 0

  function keep(
    { method, path, body }: HTTPRequest,
    { status, contentType }: HTTPAnswer,
    chunks: readonly Uint8Array[] | undefined,
  ) {
    const answer = chunks && Buffer.concat(chunks)
    total += answer?.length ?? 0
    exchanges.push({
      method,
      path,
      body,
      status,
      contentType,
      answer: total > MAX_BYTES ? undefined : answer,
    })
  }

  const openRecorded: typeof openConnection = (options) => {
    const connection = openConnection(options)
    // Not the session manager: what that is asked and answers is secret.
    if (serverKey(options) !== serverKey(config)) return connection
    return {
      ...connection,
      request: (request, read) =>
        connection.request(request, async (answer) => {
          const body = teed(answer.body)
          try {
            return await read({ ...answer, body })
          } finally {
            keep(request, answer, body.whole())
          }
        }),
    }
  }
  return { exchanges, openConnection: openRecorded }
}

/** The same chunks, kept as well; `whole` is undefined where they were not read to the end, or are too many. */
function teed(body: AsyncIterable<Uint8Array>) {
  const chunks: Uint8Array[] = []
  let [bytes, ended] = [0, false]
  return {
    whole: () => (ended && bytes <= MAX_ANSWER ? chunks : undefined),
    async *[Symbol.asyncIterator]() {
      for await (const chunk of body) {
        bytes += chunk.byteLength
        if (bytes <= MAX_ANSWER) chunks.push(chunk)
        yield chunk
      }
      ended = true
    },
  }
}
