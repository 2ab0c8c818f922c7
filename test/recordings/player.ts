/**
 * A vCenter made of a recording: an HTTPS server that answers each call as the recorded one did. Objects that live in a
 * session have new names each time, so they count by their kind alone; objects that are asked for by name are answered one
 * by one, in whatever groups they were recorded.
 */
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Exchange } from '../../controller/inspect/recording/clean-exchange.ts'
import type { VCenterRecording } from '../../controller/inspect/recording/record-vcenter.ts'
import { child, childrenOf, readXML, textOf, type XMLElement } from '../../controller/vcenter/wire/xml.ts'
import { createCertificateAuthority } from '../servers/pki.ts'

export interface Player extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** The certificate of its CA. */
  readonly pem: string
  /** Calls that the recording has no answer for. */
  readonly unanswered: readonly string[]
}

interface Answer {
  readonly status: number
  readonly contentType: string
  readonly content: string
}

export async function playRecording({ exchanges }: VCenterRecording): Promise<Player> {
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-player-'))
  const ca = await createCertificateAuthority(dir)
  const { certificateFile, keyFile } = await ca.serving('vcenter')
  const [cert, key, pem] = await Promise.all(
    [certificateFile, keyFile, ca.caFile].map((file) => readFile(file, 'utf8')),
  )
  const unanswered: string[] = []
  const soap = await soapPlayer(exchanges, unanswered)
  const rest = restPlayer(exchanges, unanswered)
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const { status, contentType, content } =
      request.url === '/sdk' ? await soap(body, gone.signal) : rest(`${request.method} ${request.url}`, body)
    if (/<Login\b/.test(body))
      response.setHeader('set-cookie', 'vmware_soap_session="played"; Path=/; HttpOnly; Secure')
    response.writeHead(status, { 'content-type': contentType }).end(content)
  }

  const server = createServer({ cert, key }, (request, response) => {
    answer(request, response).catch((error: unknown) =>
      response.destroy(Error('not answered', { cause: error })),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A TCP server's address is not text.
  const { port } = server.address() as AddressInfo
  return {
    host: '127.0.0.1',
    port,
    pem: pem ?? '',
    unanswered,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Answers in the order in which the same call was recorded; the last one for good. */
function inTurn<T>() {
  const lists = new Map<string, T[]>()
  return {
    add: (key: string, value: T) => void lists.set(key, [...(lists.get(key) ?? []), value]),
    next(key: string): T | undefined {
      const list = lists.get(key) ?? []
      return list.length > 1 ? list.shift() : list[0]
    },
    once: (key: string): T | undefined => lists.get(key)?.shift(),
  }
}

const EMPTY = new Set([
  'CancelWaitForUpdates',
  'DestroyPropertyCollector',
  'DestroyView',
  'Logout',
  'ModifyListView',
  'TerminateSession',
])

async function soapPlayer(exchanges: readonly Exchange[], unanswered: string[]) {
  const recorded = inTurn<Exchange>()
  const objects = new Map<string, Map<string, XMLElement>>()
  const privileges = new Map<string, string>()
  for (const exchange of exchanges) {
    const operation = /^SOAP (\w*)/.exec(exchange.call)?.[1]
    if (operation === undefined || exchange.answer.length === 0) continue
    recorded.add(
      operation === 'Login' ? operation : keyOf(await bodyOf(exchange.request.join('\n'))),
      exchange,
    )
    if (exchange.status !== 200) continue
    const answer = await bodyOf(exchange.answer.join('\n'))
    for (const each of childrenOf(answer, 'returnval')) {
      for (const object of childrenOf(each, 'objects')) {
        const key = refOf(child(object, 'obj'))
        const known = objects.get(key) ?? new Map<string, XMLElement>()
        objects.set(key, known)
        for (const set of object.children)
          if (set.name !== 'obj') known.set(textOf(set, set.name === 'propSet' ? 'name' : 'path') ?? '', set)
      }
      const entity = child(each, 'entity')
      if (entity !== undefined) privileges.set(refOf(entity), xml(each))
    }
  }

  /** From what was recorded of each object. */
  function assembled(call: XMLElement): string | undefined {
    if (call.name === 'HasPrivilegeOnEntities') {
      const known = childrenOf(call, 'entity').map((each) => privileges.get(refOf(each)))
      return known.includes(undefined) ? undefined : known.join('')
    }
    if (call.name !== 'RetrievePropertiesEx') return undefined
    const found = new Map<string, string | undefined>()
    for (const spec of childrenOf(call, 'specSet')) {
      const paths = childrenOf(spec, 'propSet').flatMap((each) => childrenOf(each, 'pathSet'))
      for (const set of childrenOf(spec, 'objectSet')) {
        const way = child(set, 'selectSet')
        // What else is traversed is only known as a whole.
        if (way !== undefined && textOf(way, 'path') !== 'parent') return undefined
        for (const object of way === undefined ? [child(set, 'obj')] : upFrom(child(set, 'obj'))) {
          const known = objects.get(refOf(object))
          const properties = paths
            .map(({ text }) => known?.get(text))
            .flatMap((each) => (each ? xml(each) : []))
          const content =
            known && object && `<objects>${xml({ ...object, name: 'obj' })}${properties.join('')}</objects>`
          found.set(refOf(object), content)
        }
      }
    }
    const all = [...found.values()]
    return all.includes(undefined) ? undefined : `<returnval>${all.join('')}</returnval>`
  }

  function upFrom(object: XMLElement | undefined): readonly XMLElement[] {
    if (object === undefined) return []
    return [object, ...upFrom(child(objects.get(refOf(object))?.get('parent'), 'val'))]
  }

  return async (body: string, gone: AbortSignal): Promise<Answer> => {
    const call = await bodyOf(body)
    const { name } = call
    if (name === 'CurrentTime') return answerOf(name, `<returnval>${new Date().toISOString()}</returnval>`)
    if (name === 'WaitForUpdatesEx') {
      const pushed = recorded.once(keyOf(call))
      if (pushed !== undefined) return played(pushed)
      const seconds = Number(textOf(child(call, 'options'), 'maxWaitSeconds') ?? 1)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, seconds * 1000)
        gone.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      })
      return answerOf(name, '')
    }
    const exchange = recorded.next(name === 'Login' || name === 'CloneSession' ? 'Login' : keyOf(call))
    if (exchange !== undefined) return played(exchange)
    const content = EMPTY.has(name) ? '' : assembled(call)
    if (content !== undefined) return answerOf(name, content)
    unanswered.push(`SOAP ${keyOf(call)}`)
    const fault = `<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>not recorded</faultstring><detail><NotSupportedFault xsi:type="NotSupported"/></detail></soapenv:Fault>`
    return { status: 500, contentType: 'text/xml', content: envelope(fault) }
  }
}

function played({ status, contentType, answer }: Exchange): Answer {
  return { status, contentType, content: answer.join('\n') }
}

function answerOf(operation: string, content: string): Answer {
  const text = envelope(`<${operation}Response xmlns="urn:vim25">${content}</${operation}Response>`)
  return { status: 200, contentType: 'text/xml', content: text }
}

function envelope(content: string): string {
  return (
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ' +
    `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>${content}</soapenv:Body></soapenv:Envelope>`
  )
}

/** The content of a SOAP body. */
async function bodyOf(document: string): Promise<XMLElement> {
  async function* chunks() {
    yield Buffer.from(document)
  }
  const [content] = child(await readXML(chunks(), 'Envelope'), 'Body')?.children ?? []
  if (content === undefined) throw new Error('a SOAP envelope without content')
  return content
}

const IN_SESSION = new Set(['PropertyCollector', 'PropertyFilter', 'ContainerView', 'ListView'])

/** Equal for two calls that ask the same. */
function keyOf({ name, kind, text, children }: XMLElement): string {
  if (name === 'sessionId' || name === 'options' || name === 'maxObjects') return ''
  const value = kind !== undefined && IN_SESSION.has(kind) ? '' : text.trim()
  return `${name}[${kind ?? ''}](${value}${children.map(keyOf).join('')})`
}

function refOf(element: XMLElement | undefined): string {
  return `${element?.kind} ${element?.text}`
}

function xml({ name, type, kind, text, children }: XMLElement): string {
  const attributes = `${type === undefined ? '' : ` xsi:type="${type}"`}${kind === undefined ? '' : ` type="${kind}"`}`
  const safe = children.length > 0 ? '' : text.replace(/[&<>]/g, (each) => `&#${each.charCodeAt(0)};`)
  return `<${name}${attributes}>${safe}${children.map(xml).join('')}</${name}>`
}

interface Attached {
  readonly object_id: { readonly type: string; readonly id: string }
}

function restPlayer(exchanges: readonly Exchange[], unanswered: string[]) {
  const recorded = inTurn<Exchange>()
  const attached = new Map<string, Attached>()
  const isAttached = (call: string) => call.includes('action=list-attached-tags-on-objects')
  const parse = (json: string): unknown => (json === '' ? undefined : JSON.parse(json))
  for (const exchange of exchanges) {
    if (exchange.call.startsWith('SOAP ')) continue
    recorded.add(`${exchange.call} ${JSON.stringify(parse(exchange.request.join('')))}`, exchange)
    if (!isAttached(exchange.call) || exchange.status !== 200) continue
    // As vCenter answers to this call.
    const answer = parse(exchange.answer.join('')) as { value?: Attached[] } | Attached[]
    for (const each of Array.isArray(answer) ? answer : (answer.value ?? []))
      attached.set(JSON.stringify(each.object_id), each)
  }
  return (call: string, body: string): Answer => {
    const asked = parse(body)
    const exchange = recorded.next(`${call} ${JSON.stringify(asked)}`)
    if (exchange !== undefined) return played(exchange)
    if (call.startsWith('DELETE ')) return { status: 200, contentType: 'application/json', content: '' }
    if (isAttached(call)) {
      // As Rollcall writes this call.
      const { object_ids } = asked as { object_ids: readonly unknown[] }
      const value = object_ids.flatMap((each) => attached.get(JSON.stringify(each)) ?? [])
      const text = JSON.stringify(call.includes('/rest/') ? { value } : value)
      return { status: 200, contentType: 'application/json', content: text }
    }
    unanswered.push(`${call} ${body}`)
    return { status: 404, contentType: 'application/json', content: '{}' }
  }
}
