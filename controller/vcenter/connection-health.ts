/** Whether the vCenter answers, as seen from outside: short failures are kept quiet, for they resolve themselves. */
import type { Clock } from '../../agent/shared/clock.ts'
import type { VCenterFailure } from '../types/vcenter-failure.ts'

export interface ConnectionHealth {
  /** The failure that is to be shown; undefined while the vCenter answers, or has failed for less than the grace. */
  failure(): VCenterFailure | undefined
  /** Why it does not answer, shown or not. */
  latest(): VCenterFailure | undefined
  /** `lasting`: no use in waiting, or waited already. A vCenter that never answered has no grace either. */
  failed(failure: VCenterFailure, lasting: boolean): void
  recovered(): void
  /** Whether it answers: not before it did so for the first time, nor while a failure is shown. */
  connected(): boolean
  /** Stops the clock of the grace. */
  close(): Promise<void>
}

export interface ConnectionHealthOptions {
  /** Milliseconds. */
  readonly grace: number
  readonly clock: Clock
  /** What is shown has changed. */
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
