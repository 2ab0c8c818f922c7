/** A login that was tried, or is about to be. */
export interface LoginAttempt {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Whether vCenter is known to have refused it; otherwise it may have. */
  readonly refused: boolean
}

/** Which vCenter accounts were tried, remembered outside of the process: it outlives crashes and changes of leader. */
export interface LoginAttempts {
  /**
   * Hands `change` the attempts of an account and writes what it returns; nothing where it returns undefined. It is
   * called again when somebody wrote meanwhile, so of two writers neither is lost. The account may be read by others: it
   * is no secret.
   *
   * @throws when they cannot be read or written
   */
  update(
    account: string,
    change: (attempts: readonly LoginAttempt[]) => readonly LoginAttempt[] | undefined,
    signal: AbortSignal,
  ): Promise<void>
}
