/** Milliseconds for which an attempt may count: the longest time that a limit looks back. */
export const REMEMBERED = 900_000

/** A login that was tried, or is about to be. */
export interface LoginAttempt {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Whether vCenter is known to have refused it; otherwise it may have. */
  readonly refused: boolean
}

/** Login attempts by account, kept outside the process so that they outlive crashes and changes of leader. */
export interface LoginAttempts {
  /**
   * Passes the attempts of an account to `change` and writes what that returns, or nothing where it returns undefined.
   * `change` is called again after a conflicting write, so that no attempt is lost. Others may read the account: it is not
   * a secret.
   *
   * @throws when they cannot be read or written
   */
  update(
    account: string,
    change: (attempts: readonly LoginAttempt[]) => readonly LoginAttempt[] | undefined,
    signal: AbortSignal,
  ): Promise<void>
}
