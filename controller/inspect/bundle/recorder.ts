import { serverKey, type VCenterConfig } from '../../config/config.ts'
import { type HTTPAnswer, type HTTPRequest, openConnection } from '../../vcenter/wire/connection.ts'
import type { RawExchange } from './clean-exchange.ts'

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
