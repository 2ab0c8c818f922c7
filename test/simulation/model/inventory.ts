/**
 * One vCenter's VMs as a controller follows them. Session, table, health and prober are the real ones; the calls
 * between them, except for SOAP and XML, follow `vcenter/inventory.ts` and `vcenter/list-and-watch.ts`.
 */
import { createBackoff } from '../../../agent/shared/backoff.ts'
import { every, runTogether } from '../../../controller/tasks.ts'
import type { Lookup } from '../../../controller/types/inventory.ts'
import { Table } from '../../../controller/vcenter/cache/table.ts'
import { createDebounce, type RunOutcome } from '../../../controller/vcenter/collect/debounce.ts'
import { createConnectionHealth } from '../../../controller/vcenter/connection-health.ts'
import type { InventoryOptions, RunningInventory } from '../../../controller/vcenter/inventory.ts'
import { createProber } from '../../../controller/vcenter/probe/prober.ts'
import { createSession, type ServiceContent } from '../../../controller/vcenter/session/session.ts'
import { TIMINGS } from '../../../controller/vcenter/timings.ts'
import { isSessionLost, isSilence, toFailure, VCenterError } from '../../../controller/vcenter/wire/errors.ts'
import type { Timeline } from '../timeline.ts'
import { createLink, type LoginWatch } from './link.ts'
import { locate } from './locate.ts'
import type { Process } from './process.ts'
import { followPushes } from './pushes.ts'
import type { VCenterModel } from './vcenter.ts'
import { createPlaces } from './views.ts'

export interface ModelInventoryOptions
  extends Pick<InventoryOptions, 'config' | 'logger' | 'logins' | 'onChange'> {
  readonly vCenter: VCenterModel
  readonly process: Process
  readonly timeline: Timeline
  readonly watch: LoginWatch
  /** Unique to this inventory. */
  readonly owner: string
}

export function openModelInventory(options: ModelInventoryOptions): RunningInventory {
  const { vCenter, config, process: clock, timeline, logger, onChange } = options
  const { name } = vCenter
  const random = clock.random.next
  let instanceUUID = ''
  const table = new Table({
    identity: () => ({ name, instanceUUID }),
    place: createPlaces(vCenter.folders),
    onChange(uuids) {
      onChange(uuids)
      looking.trigger()
    },
    onLost: () => lost.trigger(),
  })
  const health = createConnectionHealth({
    grace: TIMINGS.failureGrace,
    clock,
    onChange: () => onChange(table.followed()),
  })
  const prober = createProber({
    vCenter: name,
    table,
    timings: TIMINGS,
    clock,
    instanceUUID: () => instanceUUID,
    failure: health.latest,
    onProvability: () => onChange(table.followed()),
  })
  const trigger = createDebounce(TIMINGS.locate, clock)
  const lost = createDebounce(TIMINGS.lost, clock)
  const looking = createDebounce(TIMINGS.provability, clock)

  async function run(signal: AbortSignal): Promise<void> {
    const last = new AbortController()
    const link = createLink({ ...options, logins: options.watch, process: clock })
    const session = createSession({
      soap: link,
      config,
      timings: TIMINGS,
      logger,
      logins: options.logins,
      loginSignal: last.signal,
    })
    const backoff = createBackoff({ ...TIMINGS.backoff, random })

    async function locateWanted(signal: AbortSignal): Promise<RunOutcome> {
      const uuids = table.wanted()
      if (uuids.length === 0) return 'idle'
      const answers = await link.ask((vCenter) => locate(vCenter, table, uuids), TIMINGS.callDeadline, signal)
      table.answer(answers)
      return 'done'
    }

    async function resync(signal: AbortSignal): Promise<void> {
      const read = table.beginRead()
      for (const uuid of table.followed()) table.want(uuid)
      await locateWanted(signal)
      table.endRead(read)
    }

    async function readOthers(signal: AbortSignal): Promise<RunOutcome> {
      await resync(signal)
      return 'done'
    }

    async function look(signal: AbortSignal): Promise<RunOutcome> {
      await prober.refreshProvability('if new', signal)
      return 'done'
    }

    async function serve(content: ServiceContent): Promise<void> {
      const pushes = followPushes({
        vCenter,
        link,
        table,
        process: clock,
        timeline,
        trigger: trigger.trigger,
      })
      try {
        await resync(signal)
        health.recovered()
        await runTogether(
          [
            pushes.run,
            (signal) => trigger.run(locateWanted, signal),
            (signal) => lost.run(readOthers, signal),
            (signal) => prober.run({ soap: link, content, login: session.lastLogin() }, signal),
            (signal) => looking.run(look, signal),
            every(TIMINGS.resync, resync, clock, random),
            every(TIMINGS.resync, (signal) => prober.refreshProvability('in full', signal), clock, random),
            every(TIMINGS.keepAlive, session.keepAlive, clock, random),
          ],
          signal,
        )
      } finally {
        pushes.stop()
      }
    }

    async function connect(): Promise<void> {
      const content = await session.ensure(signal)
      instanceUUID = content.instanceUUID
      table.wantAll()
      looking.trigger()
      await serve(content)
    }

    function failed(error: unknown): void {
      const failure = toFailure(name, error)
      if (isSessionLost(error)) session.lost()
      health.failed(failure, session.pause() !== undefined || isSilence(error))
    }

    while (!signal.aborted) {
      const start = clock.monotonic()
      try {
        await connect()
      } catch (error) {
        if (signal.aborted) break
        failed(error)
      }
      // Unlike there it does not wait for the end of a pause, so that the logins' own memory of it is tried.
      if (clock.monotonic() - start > TIMINGS.backoff.max) backoff.reset()
      await clock.sleep(backoff.next(), signal)
    }
    const timer = new AbortController()
    void clock.sleep(TIMINGS.logout, timer.signal).then(() => last.abort())
    try {
      await session.logout(last.signal)
    } catch (error) {
      // It runs out by itself.
      if (!(error instanceof VCenterError) && !last.signal.aborted) throw error
    }
    timer.abort()
    await health.close()
  }

  return {
    vCenter: name,
    run,
    follow(uuid) {
      if (table.follow(uuid)) trigger.trigger()
    },
    unfollow: (uuid) => table.unfollow(uuid),
    recheck(uuid) {
      const answer = table.lookup(uuid)
      if (answer.state === 'pending' || (answer.state === 'answered' && answer.vms.length > 0)) return
      table.want(uuid)
      trigger.trigger()
    },
    lookup(uuid): Lookup {
      const failure = health.failure()
      if (failure !== undefined) return { state: 'unknown', failure }
      const answer = table.lookup(uuid)
      if (answer.state !== 'failed') return answer
      return { state: 'unknown', failure: toFailure(name, answer.error), alone: true }
    },
    probe: prober.probe,
    provable: prober.provable,
    provableEverywhere: prober.provableEverywhere,
    connected: () => health.connected(),
    certificateExpiry: () => undefined,
    passwordChanged: () => undefined,
    failure: () => health.failure(),
  }
}
