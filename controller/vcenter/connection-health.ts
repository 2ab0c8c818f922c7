/** Whether the vCenter answers. Short failures are not shown, because they resolve themselves. */
import type { Clock } from '../../agent/shared/clock.ts'
import type { VCenterFailure } from '../types/vcenter-failure.ts'

export interface ConnectionHealth {
  /** The failure to show; undefined while the vCenter answers or has failed for less than the grace period. */
  failure(): VCenterFailure | undefined
  /** Why it does not answer, shown or not. */
  latest(): VCenterFailure | undefined
  /** `lasting`: shown without a grace period, as is any failure before the first answer. */
  failed(failure: VCenterFailure, lasting: boolean): void
  recovered(): void
  /** Whether it answers: false before the first answer and while a failure is shown. */
  connected(): boolean
  /** Stops the timer of the grace period. */
  close(): Promise<void>
}

export interface ConnectionHealthOptions {
  /** Milliseconds. */
  readonly grace: number
  readonly clock: Clock
  /** Called when the shown failure has changed. */
  readonly onChange: () => void
}

export function createConnectionHealth({
  grace,
  clock,
  onChange,
}: ConnectionHealthOptions): ConnectionHealth {
  let latest: VCenterFailure | undefined
  let shown: VCenterFailure | undefined
  let everAnswered = false
  let countdown: { readonly stop: AbortController; readonly done: Promise<void> } | undefined

  function show(failure: VCenterFailure | undefined): void {
    if (shown?.reason === failure?.reason && shown?.message === failure?.message) return
    shown = failure
    onChange()
  }

  function startCountdown() {
    const stop = new AbortController()
    const done = clock.sleep(grace, stop.signal).then(() => {
      if (!stop.signal.aborted) show(latest)
    })
    return { stop, done }
  }

  async function close(): Promise<void> {
    const ending = countdown
    countdown = undefined
    ending?.stop.abort()
    await ending?.done
  }

  return {
    failure: () => shown,
    latest: () => latest,
    failed(failure, lasting) {
      latest = failure
      if (shown !== undefined || lasting || !everAnswered) show(failure)
      else countdown ??= startCountdown()
    },
    recovered() {
      everAnswered = true
      latest = undefined
      countdown?.stop.abort()
      countdown = undefined
      show(undefined)
    },
    connected: () => everAnswered && shown === undefined,
    close,
  }
}
