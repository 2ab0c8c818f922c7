/** A connection that answers as a test says, without a network. */

import type { VCenterConfig } from '../../config/config.ts'
import { Secret } from '../../config/secret.ts'
import type { Connection, HTTPRequest } from '../wire/connection.ts'
import type { SoapCall, SoapClient } from '../wire/soap.ts'
import { readXML } from '../wire/xml.ts'

/** What is configured for a vCenter that a fake connection leads to. */
export const FAKE_VCENTER: VCenterConfig = {
  name: 'vc',
  server: 'vc.test',
  port: 443,
  user: 'u',
  password: new Secret('p'),
  trust: { kind: 'system' },
  datacenters: [],
}

export interface FakeAnswer {
  readonly status?: number
  readonly contentType?: string
  readonly cookies?: readonly string[]
  readonly body: string | readonly Uint8Array[]
}

export interface FakeConnection extends Connection {
  readonly requests: HTTPRequest[]
}

/** `answer` may throw, as a connection does. */
export function fakeConnection(
  answer: (request: HTTPRequest) => FakeAnswer | Promise<FakeAnswer>,
): FakeConnection {
  const requests: HTTPRequest[] = []
  return {
    server: 'vc.test:443',
    requests,
    async request(request, read) {
      requests.push(request)
      const { status = 200, contentType = 'text/xml', cookies = [], body } = await answer(request)
      return await read({ status, contentType, cookies, body: chunks(body) })
    },
    close: () => Promise.resolve(),
  }
}

async function* chunks(body: string | readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  if (typeof body === 'string') yield new TextEncoder().encode(body)
  else yield* body
}

/** A SOAP answer with this content of its body. */
export function soap(content: string): string {
  return `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"
    xmlns:x="http://www.w3.org/2001/XMLSchema-instance"><e:Body>${content}</e:Body></e:Envelope>`
}

/** A SOAP fault of this type, with what else its detail contains. */
export function fault(type: string, inside = '', text = ''): FakeAnswer {
  const detail = `<${type}Fault xmlns="urn:vim25" x:type="v:${type}" xmlns:v="urn:vim25">${inside}</${type}Fault>`
  return {
    status: 500,
    body: soap(
      `<e:Fault><faultcode>S</faultcode><faultstring>${text}</faultstring><detail>${detail}</detail></e:Fault>`,
    ),
  }
}

/** The SOAP operation that a request asks for. */
export function operationOf(request: HTTPRequest): string {
  return /Body><(\w+)/.exec(request.body ?? '')?.[1] ?? ''
}

export interface FakeSoap extends SoapClient {
  readonly calls: SoapCall[]
}

/** `answer` gives the content of the response element. */
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
