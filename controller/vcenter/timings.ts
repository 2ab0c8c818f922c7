/** How long things may take and how often they are done. */
import type { Pace } from './collect/pace.ts'

/** Milliseconds. */
export interface Timings {
  /** For a call that vCenter answers from memory: one that takes longer tells that vCenter is not well. */
  readonly callDeadline: number
  /** For all others. Small calls beside it tell whether vCenter answers at all. */
  readonly readDeadline: number
  /** For a login: vCenter asks a directory, which may take minutes. */
  readonly loginDeadline: number
  /** When such a call has taken this long, a small call checks whether vCenter answers at all. */
  readonly doubt: number
  /**
   * How long vCenter holds a poll without changes. Whole seconds. A dead connection is noticed only after this; what stands in
   * between ends a silent one after 50 s (HAProxy) or 60 s (nginx, load balancers).
   */
  readonly pollWait: number
  /** What a poll may take beyond that. */
  readonly pollGrace: number
  /** vCenter ends idle sessions after 30 minutes. */
  readonly keepAlive: number
  /** Some changes are never pushed: everything is read again this often. */
  readonly resync: number
  /** How losses are collected: when a VM vanishes all are read again, because others may have vanished with it. */
  readonly lost: Pace
  /** How often UUIDs are located again whose VMs could not be read, for example for lack of a privilege. */
  readonly failed: number
  /** How often the UUIDs of all VMs are read, to find copies and new VMs. */
  readonly sweep: number
  /** How long the UUIDs read by a sweep may answer for. */
  readonly indexAge: number
  /** How UUIDs to be located are collected. */
  readonly locate: Pace
  /** How objects whose tags are unknown are collected: they come from locating, so they follow each other closely. */
  readonly tags: Pace
  /** How changes to the watched list are collected: until a VM is on it, its changes are not seen. */
  readonly members: Pace
  /**
   * A new member that vCenter has not reported for this long is read again: it may have been destroyed in between. Also the time
   * between two looks at a VM that had another UUID when it was read.
   */
  readonly enter: number
  /** How new objects above VMs are collected, to check whether the account may read them: not urgent. */
  readonly provability: Pace
  /**
   * How long vCenter may fail before lookups say so, from the first failed attempt to reconnect; shorter failures go unnoticed. A
   * small call that times out takes longer than this.
   */
  readonly failureGrace: number
  /**
   * Connections in a row that work, and then fail, are told of once that has lasted for so long; two are in a row where no more
   * than `within` is between their failures: the longest pause, a slow start and a poll that does not end.
   */
  readonly unsteady: { readonly lasting: number; readonly within: number }
  /** For logging out. */
  readonly logout: number
  /** Between two calls about an object that keeps calls from being answered. */
  readonly unanswered: { readonly base: number; readonly max: number }
  readonly backoff: { readonly base: number; readonly max: number }
  /** Between attempts with a credential that vCenter refuses. Each wait is between half of its ceiling and all of it. */
  readonly refusedLogin: { readonly base: number; readonly max: number }
  /** The same where REST refuses a password that SOAP accepts, so that it is right. */
  readonly refusedREST: { readonly base: number; readonly max: number }
  /** After this vCenter ends a session at its REST interface that nobody uses. */
  readonly restSessionExpires: number
  /** The same where a session manager took the request and has no ticket. */
  readonly failedTicket: { readonly base: number; readonly max: number }
}

export const TIMINGS: Timings = {
  callDeadline: 15_000,
  readDeadline: 60_000,
  loginDeadline: 300_000,
  doubt: 5_000,
  pollWait: 45_000,
  pollGrace: 15_000,
  keepAlive: 600_000,
  resync: 300_000,
  lost: { quiet: 500, max: 2_000, spacing: 10_000 },
  failed: 30_000,
  sweep: 600_000,
  indexAge: 30_000,
  locate: { quiet: 50, max: 200, spacing: 2_000 },
  tags: { quiet: 50, max: 200, spacing: 1_000 },
  members: { quiet: 50, max: 200, spacing: 2_000 },
  enter: 5_000,
  provability: { quiet: 500, max: 2_000, spacing: 5_000 },
  failureGrace: 10_000,
  unsteady: { lasting: 300_000, within: 180_000 },
  logout: 2_500,
  unanswered: { base: 60_000, max: 1_800_000 },
  backoff: { base: 500, max: 60_000 },
  refusedLogin: { base: 1_800_000, max: 1_800_000 },
  refusedREST: { base: 60_000, max: 1_800_000 },
  restSessionExpires: 1_800_000,
  failedTicket: { base: 20_000, max: 150_000 },
}
