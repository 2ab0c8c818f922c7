import type { Task } from '../../../controller/tasks.ts'
import type { Table } from '../../../controller/vcenter/cache/table.ts'
import { TIMINGS } from '../../../controller/vcenter/timings.ts'
import { DeadlineError, SoapFault, VCenterError } from '../../../controller/vcenter/wire/errors.ts'
import type { Timeline } from '../timeline.ts'
import type { Link } from './link.ts'
import type { Process } from './process.ts'
import type { VCenterModel } from './vcenter.ts'
import { readRow } from './views.ts'

export interface PushOptions {
  readonly vCenter: VCenterModel
  readonly link: Link
  readonly table: Table
  readonly process: Process
  readonly timeline: Timeline
  /** UUIDs are to be asked for. */
  readonly trigger: () => void
}

/** The open wait for updates of one session. */
export interface Pushes {
  /** Throws when the wait ends. */
  readonly run: Task
  stop(): void
}

/** Takes what vCenter pushes, for as long as the session lives. */
export function followPushes(options: PushOptions): Pushes {
  const { vCenter, link, table, process, timeline, trigger } = options
  const session = link.session()
  let stopped = false
  const ended = Promise.withResolvers<never>()
  // Whoever runs it hears of it; until then, nobody has to.
  ended.promise.catch(() => undefined)

  function take(morefs: readonly string[]): void {
    if (stopped) return
    let doubts = 0
    for (const moref of morefs) {
      const there = vCenter.impostor ?? vCenter
      const vm = there.vms.get(moref)
      // What may not be read is read again, which shows no more: it is asked for.
      const shown = vm !== undefined && there.isVisible(vm) && !there.reticent.has(moref)
      const changes = shown ? table.update([readRow(vm, table.machine(moref))]) : table.leave([moref])
      doubts += changes.doubted.length
    }
    if (doubts > 0) trigger()
  }

  function end(error: VCenterError, after: number): void {
    timeline.after(after, `${process.name} loses its wait at ${vCenter.name}`, () =>
      process.deliver(() => ended.reject(error)),
    )
  }

  if (session !== undefined) {
    session.onChange = (morefs) => {
      timeline.after(process.random.between(2, 40), `${vCenter.name} pushes to ${process.name}`, () =>
        process.deliver(() => take(morefs)),
      )
    }
    session.onEnd = () => {
      if (vCenter.reach === 'works') end(new SoapFault('NotAuthenticated', ''), 20)
      else if (vCenter.reach === 'down') end(new VCenterError('Unreachable', `${vCenter.name} is away`), 20)
      else end(new DeadlineError('no answer', true), TIMINGS.pollWait + TIMINGS.pollGrace)
    }
  }

  return {
    async run(signal) {
      const over = Promise.withResolvers<void>()
      const abort = () => over.resolve()
      signal.addEventListener('abort', abort, { once: true })
      if (signal.aborted) abort()
      await Promise.race([ended.promise, over.promise])
      signal.removeEventListener('abort', abort)
    },
    stop() {
      stopped = true
      if (session === undefined) return
      session.onChange = undefined
      session.onEnd = undefined
    },
  }
}
