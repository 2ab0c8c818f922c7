/** A SOAP client that answers as a test says, through the reader of XML. */
import type { SoapCall, SoapClient } from '../wire/soap.ts'
import { readXML } from '../wire/xml.ts'

export interface FakeSoap extends SoapClient {
  readonly calls: SoapCall[]
}

/** `answer` gives what stands in the response element. */
export function fakeSoap(answer: (call: SoapCall) => string): FakeSoap {
  const calls: SoapCall[] = []
  return {
    server: 'vc.test:443',
    calls,
    async call(call) {
      call.signal.throwIfAborted()
      calls.push(call)
      const response = await readXML(inBody(answer(call)), 'e', call.records)
      const content = response.children[0]?.children[0]
      if (content === undefined) throw new Error('the answer has no content')
      return content
    },
    sessionID: () => 'id',
    forgetSession() {},
  }
}

async function* inBody(content: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(`<e><b><response>${content}</response></b></e>`)
}
