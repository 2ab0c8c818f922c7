/** A controller's connection to one vCenter: requests take time, get no answer, or meet a vCenter that fails. */
import type { Connection, HTTPAnswer, HTTPRequest } from '../../../controller/vcenter/wire/connection.ts'
import { DeadlineError, SoapFault, VCenterError } from '../../../controller/vcenter/wire/errors.ts'
import type { Timeline } from '../timeline.ts'
import { answer, parseRequest } from './answers.ts'
import { faultXML, inEnvelope } from './elements.ts'
import type { Process } from './process.ts'
import type { SessionModel } from './session.ts'
import { away, type VCenterModel } from './vcenter.ts'

/** Told of each login that is tried, and of its outcome when the answer arrives. */
export interface LoginWatch {
  tried(owner: string): void
  refused(owner: string): void
  accepted(owner: string, session: SessionModel): void
}

export interface ModelConnectionOptions {
  readonly vCenter: VCenterModel
  readonly process: Process
  readonly timeline: Timeline
  /** Unique to the process, vCenter and connection. */
  readonly owner: string
  readonly logins: LoginWatch
}

const COOKIE = 'vmware_soap_session'

export function createModelConnection(options: ModelConnectionOptions): Connection {
  const { vCenter: configured, process, timeline, owner, logins } = options
  const { random } = process
  const server = `${configured.name}:443`
  const client = { owner, alive: () => process.state !== 'dead' }
  let held: SessionModel | undefined

  /** What vCenter sends, when it arrives. Throws what a real connection throws. */
  function exchange({ headers, body = '', deadline, longPoll, signal }: HTTPRequest): Promise<HTTPAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<HTTPAnswer>()
    if (signal.aborted) {
      reject(signal.reason)
      return promise
    }
    const request = parseRequest(body)
    const cookie = headers.cookie?.slice(`${COOKIE}=`.length)
    let settled = false
    let giveUp: (() => void) | undefined
    function finish(): void {
      settled = true
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
    const overdue = timeline.after(deadline, `${request.operation} of ${owner} takes too long`, () =>
      arrives(() => reject(new DeadlineError(`${server} did not answer in time`, longPoll === true))),
    )
    const way = () => random.between(1, 15) + random.next() * configured.slow
    const sends = (act: () => void): void => {
      if (!settled) timeline.after(way(), `${owner} has ${request.operation} answered`, () => arrives(act))
    }

    timeline.after(way(), `vCenter ${configured.name} gets ${request.operation} of ${owner}`, () => {
      // Who has given it up has closed the connection.
      if (settled) return
      const vCenter = configured.impostor ?? configured
      if (configured.reach === 'hangs') return
      if (configured.reach === 'down') return sends(() => reject(away(configured)))
      if (random.chance(configured.errors)) return sends(() => resolve(answered(503, '')))
      let made: SessionModel | undefined
      const respond = (content: () => string): void => {
        try {
          const xml = inEnvelope(content())
          sends(() => {
            if (made !== undefined) logins.accepted(owner, made)
            held = made ?? held
            resolve(answered(200, xml, made))
          })
        } catch (error) {
          fails(error)
        }
      }
      const fails = (error: unknown): void => {
        if (!(error instanceof VCenterError)) throw error
        if (!(error instanceof SoapFault)) {
          sends(() => reject(error))
          return
        }
        const xml = inEnvelope(faultXML(error))
        sends(() => {
          if (error.fault === 'InvalidLogin') logins.refused(owner)
          if (error.fault === 'NotAuthenticated' && held?.key === cookie && held !== undefined)
            held.over = true
          resolve(answered(500, xml))
        })
      }
      try {
        const done = answer(vCenter, request, { cookie, client }, respond)
        made = done.made
        giveUp = done.giveUp
      } catch (error) {
        fails(error)
      }
    })
    return promise
  }

  return {
    server,
    async request(request, read) {
      if (request.body?.includes('<Login ')) logins.tried(owner)
      return await read(await exchange(request))
    },
    close: () => Promise.resolve(),
  }
}

function answered(status: number, body: string, made?: SessionModel): HTTPAnswer {
  return {
    status,
    contentType: 'text/xml',
    cookies: made === undefined ? [] : [`${COOKIE}=${made.key}; Path=/; HttpOnly`],
    body: inOnePiece(body),
  }
}

async function* inOnePiece(body: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(body)
}
