/** A controller's connection to one vCenter: requests take time, get no answer, or meet a vCenter that fails. */
import type { LoginInterface } from '../../../controller/vcenter/session/login-accounts.ts'
import type { Connection, HTTPAnswer, HTTPRequest } from '../../../controller/vcenter/wire/connection.ts'
import { DeadlineError, SoapFault, VCenterError } from '../../../controller/vcenter/wire/errors.ts'
import type { Timeline } from '../timeline.ts'
import { faultXML, inEnvelope } from './elements.ts'
import { stateOf, type VM } from './machine.ts'
import { createModelNames } from './names.ts'
import type { Process } from './process.ts'
import { answerREST, isLogin } from './rest.ts'
import type { SessionModel } from './session.ts'
import { answer, parseRequest } from './soap-operations.ts'
import { away, NoAnswer, type VCenterModel } from './vcenter.ts'

/** Told of each login that is tried, and of its outcome when the answer arrives. */
export interface LoginWatch {
  tried(owner: string, by: LoginInterface): void
  refused(owner: string, by: LoginInterface): void
  accepted(owner: string, session: SessionModel): void
  /** It asks vCenter to end its session, which a vCenter that fails may not do. */
  left(owner: string): void
  /** The answer to a login is lost, though there is a session. */
  lost(owner: string, by: LoginInterface): void
  /** An answer has come that shows these VMs, as they were when it was made. */
  showed(owner: string, shown: readonly ShownVM[]): void
}

export interface ShownVM {
  readonly vm: VM
  readonly state: string
  readonly claim: string | undefined
}

export interface ModelConnectionOptions {
  readonly vCenter: VCenterModel
  readonly process: Process
  readonly timeline: Timeline
  /** Unique to the process, vCenter and connection. */
  readonly owner: string
  /** By which vCenter's list of sessions knows it. */
  readonly userAgent: string
  readonly logins: LoginWatch
}

/** What vCenter does with a request that has arrived: it replies, now or later. Returns how to give up. */
type Take = (vCenter: VCenterModel, reply: Reply) => (() => void) | undefined
/** Sends an answer, or ends the connection; `heard` is called when it arrives. */
type Reply = (what: HTTPAnswer | VCenterError, heard?: () => void) => void

const COOKIE = 'vmware_soap_session'
/** The calls that are made once for each session. */
const SET_UP: ReadonlySet<string> = new Set([
  'RetrieveServiceContent',
  'CreateContainerView',
  'CreateListView',
  'CreatePropertyCollector',
  'CreateFilter',
])

export function createModelConnection(options: ModelConnectionOptions): Connection {
  const { vCenter: configured, process, timeline, owner, userAgent, logins } = options
  const { random } = process
  const server = `${configured.name}:443`
  const closed = new AbortController()
  const alive = () => process.state !== 'dead' && !closed.signal.aborted
  const client = { owner, userAgent, alive }
  const names = createModelNames(configured, process, closed.signal)
  let held: SessionModel | undefined

  /** What vCenter sends, when it arrives. Throws what a real connection throws. */
  function exchange(request: HTTPRequest, what: string, take: Take): Promise<HTTPAnswer> {
    const { deadline, longPoll, signal } = request
    const { promise, resolve, reject } = Promise.withResolvers<HTTPAnswer>()
    if (signal.aborted) {
      reject(signal.reason)
      return promise
    }
    let settled = false
    let giveUp: (() => void) | undefined
    let cut: { cancel(): void } | undefined
    function finish(): void {
      settled = true
      cut?.cancel()
      signal.removeEventListener('abort', abort)
      overdue.cancel()
      giveUp?.()
    }
    function abort(): void {
      finish()
      reject(signal.reason)
    }
    const arrives = (act: () => void): void =>
      process.deliver(() => {
        if (settled) return
        finish()
        act()
      })
    signal.addEventListener('abort', abort, { once: true })
    const overdue = timeline.after(deadline, `${what} of ${owner} takes too long`, () =>
      arrives(() => reject(new DeadlineError(`${server} did not answer in time`, longPoll === true))),
    )
    const way = () => random.between(1, 15) + random.next() * configured.slow
    const { slowLogin, slowSetUp, silence } = configured
    const kind = longPoll === true ? 'poll' : 'call'
    const longest = what === 'Login' ? slowLogin : SET_UP.has(what) ? slowSetUp : 0
    const thinks = longest > 0 ? random.between(0.5, 1) * longest : 0
    const reply: Reply = (answer, heard = () => undefined) => {
      if (settled) return
      timeline.after(thinks + way(), `${owner} has ${what} answered`, () =>
        arrives(() => {
          heard()
          if (answer instanceof VCenterError) return reject(answer)
          names.answered(kind, timeline.now)
          resolve(answer)
        }),
      )
    }

    const send = (): void => {
      if (settled) return
      timeline.after(way(), `vCenter ${configured.name} gets ${what} of ${owner}`, () => {
        // Who has given it up has closed the connection.
        if (settled || configured.reach === 'hangs') return
        if (configured.reach === 'down') reply(away(configured))
        else if (random.chance(configured.errors)) reply(answered(503, ''))
        else giveUp = take(configured.impostor ?? configured, reply)
      })
      if (longPoll === true && silence > 0) {
        cut = timeline.after(silence, `a proxy ends a poll of ${owner}`, () => reply(answered(504, '')))
      }
    }
    const connecting = names.connect(kind, timeline.now)
    if (connecting === undefined) send()
    else
      connecting.then(send, () =>
        arrives(() => reject(new VCenterError('Unreachable', `DNS does not answer for ${server}`))),
      )
    return promise
  }

  function sendSOAP(request: HTTPRequest): Promise<HTTPAnswer> {
    const asked = parseRequest(request.body ?? '')
    const cookie = request.headers.cookie?.slice(`${COOKIE}=`.length)
    if (asked.operation === 'Login') logins.tried(owner, 'SOAP')
    if (asked.operation === 'Logout') logins.left(owner)

    return exchange(request, asked.operation, (vCenter, reply) => {
      let made: SessionModel | undefined
      const fails = (error: unknown): void => {
        if (!(error instanceof VCenterError)) throw error
        if (error instanceof NoAnswer) return
        if (error instanceof SoapFault)
          reply(answered(500, inEnvelope(faultXML(error))), () => heardFault(error, cookie))
        else reply(error)
      }
      const respond = (content: () => string): void => {
        try {
          const cookies = made === undefined ? [] : [`${COOKIE}=${made.key}; Path=/; HttpOnly`]
          const text = content()
          if (made !== undefined && configured.losesLogins === 'SOAP') {
            logins.lost(owner, 'SOAP')
            reply(answered(504, ''))
            return
          }
          const shown = shownIn(text, vCenter)
          reply(answered(200, inEnvelope(text), cookies), () => {
            if (shown.length > 0) logins.showed(owner, shown)
            heardLogin(made, vCenter)
          })
        } catch (error) {
          fails(error)
        }
      }
      try {
        const begun = answer(vCenter, asked, { cookie, client })
        made = begun.made
        return begun.start(respond)
      } catch (error) {
        fails(error)
        return undefined
      }
    })
  }

  function heardLogin(made: SessionModel | undefined, vCenter: VCenterModel): void {
    if (made === undefined) return
    logins.accepted(owner, made)
    made.known = true
    if (vCenter === configured) configured.mistakenBy.delete(process.name)
    else configured.mistakenBy.add(process.name)
    held = made
  }

  function heardFault({ fault }: SoapFault, cookie: string | undefined): void {
    if (fault === 'InvalidLogin') logins.refused(owner, 'SOAP')
    if (fault === 'NotAuthenticated' && held?.key === cookie && held !== undefined) held.over = true
  }

  function sendREST(request: HTTPRequest): Promise<HTTPAnswer> {
    if (isLogin(request)) logins.tried(owner, 'REST')
    return exchange(request, request.path, (vCenter, reply) => {
      const { status, value } = answerREST(vCenter, request, client)
      if (status === 200 && isLogin(request) && configured.losesLogins === 'REST') {
        configured.lostRESTLoginAt = timeline.now
        logins.lost(owner, 'REST')
        reply(answered(504, ''))
        return undefined
      }
      reply(answered(status, status === 200 ? JSON.stringify({ value }) : ''), () => {
        if (status === 401 && isLogin(request)) logins.refused(owner, 'REST')
      })
      return undefined
    })
  }

  return {
    server,
    async request(request, read) {
      return await read(await (request.path === '/sdk' ? sendSOAP(request) : sendREST(request)))
    },
    async close() {
      closed.abort()
    },
  }
}

/**
 * The VMs of which an answer says whether they run, or what has changed. Of some it says no more than that there are VMs of
 * these UUIDs or names: for those that nobody asks for, and those that a search is to find.
 */
function shownIn(content: string, vCenter: VCenterModel): readonly ShownVM[] {
  const [, ...objects] = content.split('<obj type="VirtualMachine">')
  return objects.flatMap((object) => {
    const vm = vCenter.vms.get(object.slice(0, object.indexOf('<')))
    const isRead = object.includes('<propSet>')
    const says = isRead ? object.includes('<name>runtime.powerState') : /<name>(?!config\.uuid)/.test(object)
    if (vm === undefined || !says) return []
    return [{ vm, state: stateOf(vm), claim: vCenter.reticent.has(vm.moref) ? undefined : vm.claim }]
  })
}

function answered(status: number, body: string, cookies: readonly string[] = []): HTTPAnswer {
  return { status, contentType: 'text/xml', cookies, body: inOnePiece(body) }
}

async function* inOnePiece(body: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(body)
}
