/** A controller's connection to one vCenter: the calls of the real code, and a short way for what is modelled. */
import { DeadlineError, VCenterError } from '../../../controller/vcenter/wire/errors.ts'
import type { SoapCall, SoapClient } from '../../../controller/vcenter/wire/soap.ts'
import type { Timeline } from '../timeline.ts'
import { answer } from './answers.ts'
import type { Process } from './process.ts'
import { type SessionModel, unavailable, type VCenterModel } from './vcenter.ts'

/** Told of each login that is tried, of its outcome when the answer arrives, and of each session that is given up. */
export interface LoginWatch {
  tried(owner: string): void
  refused(owner: string): void
  accepted(owner: string, session: SessionModel): void
}

export interface Link extends SoapClient {
  /** Asks vCenter in the session for what the model can tell without SOAP. */
  ask<T>(work: (vCenter: VCenterModel) => T, deadline: number, signal: AbortSignal): Promise<T>
  session(): SessionModel | undefined
}

export interface LinkOptions {
  readonly vCenter: VCenterModel
  readonly process: Process
  readonly timeline: Timeline
  /** Of this process, vCenter and session object. */
  readonly owner: string
  readonly logins: LoginWatch
}

export function createLink({ vCenter: configured, process, timeline, owner, logins }: LinkOptions): Link {
  const { random } = process
  const server = `${configured.name}:443`
  let cookie: SessionModel | undefined

  function send<T>(
    what: string,
    work: (vCenter: VCenterModel) => T,
    deadline: number,
    signal: AbortSignal,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (signal.aborted) {
      reject(signal.reason)
      return promise
    }
    let settled = false
    const late = () => reject(new DeadlineError(`${server} did not answer in time`, false))
    const settle = (act: () => void) => {
      process.deliver(() => {
        if (settled) return
        settled = true
        signal.removeEventListener('abort', abort)
        act()
      })
    }
    function abort(): void {
      settled = true
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    const way = () => random.between(1, 15) + random.next() * configured.slow
    const there = way()
    timeline.after(there, `vCenter ${configured.name} gets ${what} of ${process.name}`, () => {
      if (settled) return
      const vCenter = configured.impostor ?? configured
      const back = way()
      const done = (act: () => void, after = back) => {
        const words = `${process.name} has ${what} answered`
        if (there + after > deadline) timeline.after(deadline - there, words, () => settle(late))
        else timeline.after(after, words, () => settle(act))
      }
      const fails = (error: unknown) => done(() => reject(error))
      if (configured.reach === 'hangs') return done(late, deadline)
      if (configured.reach === 'down') return fails(new VCenterError('Unreachable', `${server} is away`))
      if (random.chance(configured.errors)) return fails(unavailable(server))
      try {
        const value = work(vCenter)
        done(() => resolve(value))
      } catch (error) {
        if (!(error instanceof VCenterError)) throw error
        fails(error)
      }
    })
    return promise
  }

  return {
    server,
    async call(call: SoapCall) {
      const { operation, deadline, signal } = call
      if (operation === 'Login') logins.tried(owner)
      try {
        const reply = await send(
          operation,
          (vCenter) => answer(vCenter, call, cookie?.key, owner),
          deadline,
          signal,
        )
        if (reply.session !== undefined) {
          cookie = reply.session
          logins.accepted(owner, reply.session)
        }
        return reply.response
      } catch (error) {
        if (error instanceof VCenterError && error.reason === 'InvalidLogin') logins.refused(owner)
        throw error
      }
    },
    ask(work, deadline, signal) {
      const inSession = (vCenter: VCenterModel) => {
        vCenter.session(cookie?.key)
        return work(vCenter)
      }
      return send('a call', inSession, deadline, signal)
    },
    session: () => cookie,
    hasSession: () => cookie !== undefined,
    forgetSession() {
      cookie = undefined
    },
  }
}
