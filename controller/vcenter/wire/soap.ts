/** A client for vSphere's SOAP interface; keeps the session's cookie. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { InventoryMetrics } from '../running-inventory.ts'
import type { Connection, HTTPAnswer } from './connection.ts'
import { HTTPStatusError, SoapFault, VCenterError } from './errors.ts'
import type { ManagedObjectReference } from './managed-object-reference.ts'
import { child, childrenOf, type RecordReader, readXML, textOf, type XMLElement } from './xml.ts'

const COOKIE = 'vmware_soap_session'
const VERSION_MISMATCH = 'VersionMismatch'

export interface SoapCall {
  readonly operation: string
  readonly target: ManagedObjectReference
  /** Elements after `_this`, in the WSDL's order. */
  readonly parameters?: string
  /** Milliseconds. */
  readonly deadline: number
  readonly longPoll?: boolean
  /** Whether it is about objects any of which may keep it from being answered. */
  readonly ofObjects?: boolean
  /** Reads large answers record by record, see {@link readXML}. */
  readonly records?: RecordReader
  readonly signal: AbortSignal
}

export interface SoapClient {
  readonly server: string
  /** Returns the response element. Throws a SoapFault for a fault, a VCenterError for any other failure. */
  call(call: SoapCall): Promise<XMLElement>
  /** The value of the session's cookie; undefined while there is none. A secret. */
  sessionID(): string | undefined
  forgetSession(): void
}

export function createSoapClient(options: {
  readonly connection: Connection
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly metrics: InventoryMetrics
}): SoapClient {
  const { connection, clock, random, metrics } = options
  let cookie: string | undefined
  let version = VSPHERE_API_VERSION
  // vCenter's logs have calls of many sessions and processes, so operation IDs must be unique.
  const operations = `rollcall-${Math.floor(random() * 2 ** 32).toString(16)}`
  let calls = 0

  async function send({ operation, target, parameters, deadline, longPoll, records, signal }: SoapCall) {
    const headers: Record<string, string> = {
      'content-type': 'text/xml; charset=utf-8',
      // Some proxies refuse a request without it.
      accept: 'text/xml',
      soapaction: `urn:vim25/${version}`,
    }
    if (cookie !== undefined) headers.cookie = `${COOKIE}=${cookie}`
    const body = envelope(operation, target, parameters ?? '', `${operations}-${++calls}`)
    const request = { method: 'POST', path: '/sdk', headers, body, deadline, signal } as const
    return await connection.request(
      longPoll === true ? { ...request, longPoll } : request,
      async (answer) => {
        // First, as the session exists, whatever becomes of the rest. A quoted value is sent back as received.
        for (const each of answer.status === 200 ? answer.cookies : [])
          cookie = new RegExp(`^${COOKIE}=([^;]*)`).exec(each)?.[1] ?? cookie
        return await readAnswer(connection.server, answer, records)
      },
    )
  }

  /** Sends it again in a version that vCenter supports, if it refused the first. */
  async function sendInSomeVersion(call: SoapCall): Promise<XMLElement> {
    const spoken = version
    try {
      return await send(call)
    } catch (error) {
      if (!(error instanceof SoapFault && error.fault === VERSION_MISMATCH)) throw error
      if (version === spoken) {
        version = (await negotiateVersion(connection, call.deadline, call.signal)) ?? spoken
        if (version === spoken) throw error
      }
      return await send(call)
    }
  }

  return {
    server: connection.server,
    async call(call) {
      const start = clock.monotonic()
      const seconds = () => (clock.monotonic() - start) / 1000
      try {
        const response = await sendInSomeVersion(call)
        metrics.call(call.operation, 'ok', seconds())
        return response
      } catch (error) {
        if (!call.signal.aborted) metrics.call(call.operation, outcomeOf(error), seconds())
        throw error
      }
    },
    // Some versions quote it.
    sessionID: () => cookie?.replace(/^"(.*)"$/, '$1'),
    forgetSession() {
      cookie = undefined
    },
  }
}

function outcomeOf(error: unknown): string {
  if (error instanceof SoapFault) return error.fault
  return error instanceof VCenterError ? error.reason : 'Defect'
}

/** 200 is a result, 500 a fault; any other status does not come from the SOAP service. */
async function readAnswer(
  server: string,
  answer: HTTPAnswer,
  records: RecordReader | undefined,
): Promise<XMLElement> {
  const { status, contentType } = answer
  // Envoy answers 408 where others answer 504.
  if (status === 408 || status === 504) {
    throw new VCenterError(
      'TimedOut',
      `a proxy in front of ${server} answers that it got no answer in time (HTTP status ${status}); check the state of its services`,
    )
  }
  if (status === 429 || status >= 501 || (status === 500 && contentType !== 'text/xml')) {
    throw new HTTPStatusError(
      status,
      `${server} answers with HTTP status ${status}; check the state of its services`,
    )
  }
  if (status === 404) {
    throw new HTTPStatusError(
      status,
      `${server} answers to /sdk with HTTP status 404, as a vCenter does while its services start; check their state, and ` +
        'server and port if it lasts',
    )
  }
  if (status !== 200 && status !== 500) {
    throw new VCenterError(
      'NotVCenter',
      `${server} answers to /sdk with HTTP status ${status}; check server and port, and for a proxy in between`,
    )
  }
  if (contentType === 'text/html') {
    throw new VCenterError(
      'NotVCenter',
      `${server} answers to /sdk with an HTML page; check server and port, and for a proxy in between`,
    )
  }
  const document = await readXML(answer.body, 'Envelope', status === 200 ? records : undefined)
  const content = child(document, 'Body')?.children[0]
  if (content === undefined) {
    throw new VCenterError('MalformedAnswer', `${server} answers with a SOAP envelope that has no content`)
  }
  if (content.name === 'Fault') throw readFault(content)
  return content
}

function readFault(fault: XMLElement): SoapFault {
  const [detail] = child(fault, 'detail')?.children ?? []
  const text = textOf(fault, 'faultstring') ?? ''
  // Told by the code or only by the text, with or without a detail.
  if (/VersionMismatch/.test(textOf(fault, 'faultcode') ?? '') || /unsupported version/i.test(text)) {
    return new SoapFault(VERSION_MISMATCH, text)
  }
  return readFaultDetail(detail, text) ?? new SoapFault(textOf(fault, 'faultcode') ?? 'unknown', text)
}

/** Parses a fault element, as found in `detail` and, for one property, in `missingSet`. */
export function readFaultDetail(detail: XMLElement | undefined, text = ''): SoapFault | undefined {
  if (detail === undefined) return undefined
  const type = detail.type ?? detail.name.replace(/Fault$/, '')
  // ManagedObjectNotFound calls it `obj`, NoPermission `object`.
  const object = toReference(child(detail, 'obj') ?? child(detail, 'object'))
  return new SoapFault(type, text, object, textOf(detail, 'privilegeId'))
}

/** Parses a managed object reference; undefined where the element is missing or names no object. */
export function toReference(element: XMLElement | undefined): ManagedObjectReference | undefined {
  if (element?.kind === undefined || element.text === '') return undefined
  return { type: element.kind, value: element.text }
}

/**
 * The requested API version: that of the oldest supported vCenter. Later vCenters support it too and answer in it, so no
 * answer contains an unknown type and no call is spent on negotiation. Where it is refused, see {@link negotiateVersion}.
 */
const VSPHERE_API_VERSION = '6.7'

/** For text in XML: of these, each writer takes the characters that it must not leave. */
export const XML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  // A parser turns a bare carriage return into a line feed, which would change a password.
  '\r': '&#13;',
  '\n': '&#10;',
}

/** Text for an element or an attribute. Throws a VCenterError for a character that XML 1.0 cannot carry. */
export function escapeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text) || !text.isWellFormed()) {
    throw new VCenterError(
      'UnusableValue',
      'a value for vCenter holds a control character, which XML cannot carry; check user and password',
    )
  }
  return text.replace(/[&<>"\r]/g, (character) => XML_ESCAPES[character] ?? character)
}

/** An element with text. */
export function element(name: string, text: string | number | boolean): string {
  return `<${name}>${escapeText(String(text))}</${name}>`
}

/** An element with a reference. */
export function reference(name: string, { type, value }: ManagedObjectReference): string {
  return `<${name} type="${escapeText(type)}">${escapeText(value)}</${name}>`
}

/**
 * The whole request. `parameters` are elements already written, in the order that vSphere's WSDL fixes; `operationID`
 * identifies the call in vCenter's logs.
 */
export function envelope(
  operation: string,
  target: ManagedObjectReference,
  parameters: string,
  operationID: string,
): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ' +
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
    `<soapenv:Header>${element('operationID', operationID)}</soapenv:Header><soapenv:Body>` +
    `<${operation} xmlns="urn:vim25">${reference('_this', target)}${parameters}</${operation}>` +
    '</soapenv:Body></soapenv:Envelope>'
  )
}

/** Every vCenter serves this without a session. */
export const VERSIONS_PATH = '/sdk/vimServiceVersions.xml'
const NUMBERS = /^\d{1,5}(\.\d{1,5}){0,5}$/

/**
 * The API version for this server: of those it supports, the oldest that is not older than the one this code was written
 * for, as it differs least; otherwise the newest. Undefined where the server names none. Throws a VCenterError.
 */
async function negotiateVersion(
  connection: Connection,
  deadline: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const request = {
    method: 'GET',
    path: VERSIONS_PATH,
    headers: { accept: 'text/xml' },
    deadline,
    signal,
  } as const
  const document = await connection.request(request, async ({ status, body }) =>
    status === 200 ? await readXML(body, 'namespaces') : undefined,
  )
  return chooseVersion(versionsIn(document))
}

function versionsIn(document: XMLElement | undefined): string[] {
  return childrenOf(document, 'namespace')
    .filter((namespace) => textOf(namespace, 'name') === 'urn:vim25')
    .flatMap((namespace) => [
      ...childrenOf(namespace, 'version'),
      ...childrenOf(child(namespace, 'priorVersions'), 'version'),
    ])
    .map(({ text }) => text.trim())
    .filter((version) => NUMBERS.test(version))
}

/** Exported for its test. */
export function chooseVersion(served: readonly string[]): string | undefined {
  const ascending = served.toSorted(compare)
  return ascending.find((version) => compare(version, VSPHERE_API_VERSION) >= 0) ?? ascending.at(-1)
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number))
  for (let i = 0; i < Math.max(left?.length ?? 0, right?.length ?? 0); i++) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
