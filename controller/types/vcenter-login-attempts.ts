/** Milliseconds for which an attempt may count: the longest time that a limit looks back. */
export const REMEMBERED = 900_000

/** A login that was tried, or is about to be. */
export interface LoginAttempt {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Whether vCenter is known to have refused it; otherwise it may have. */
  readonly refused: boolean
}

/** A list for each name of an account, in their order. */
export type AttemptLists = readonly (readonly LoginAttempt[])[]

/** Attempts are counted by time, and this machine's is wrong: none may be made from here. The message has the next step. */
export class WrongClock extends Error {
  /** @param skew the API server's clock minus ours, milliseconds */
  constructor(skew: number) {
    const seconds = Math.round(Math.abs(skew) / 1000)
    super(
      `this machine's clock is ${seconds} s ${skew > 0 ? 'behind' : 'ahead of'} the API server's, and attempts are counted by time: set it, by NTP`,
    )
    this.name = 'WrongClock'
  }
}

/** Login attempts by account, kept outside the process so that they outlive crashes and changes of leader. */
export interface LoginAttempts {
  /**
   * Passes the attempts on an account, a list for each of its names, to `change`, and writes the lists that it returns under
   * these names, or nothing where it returns undefined. `change` is called again after a conflicting write, so that no attempt
   * is lost. Others may read the names: they are not secret.
   *
   * @throws WrongClock where this machine may count none; otherwise when they cannot be read or written
   */
  update(
    names: readonly string[],
    change: (lists: AttemptLists) => AttemptLists | undefined,
    signal: AbortSignal,
  ): Promise<void>
}
