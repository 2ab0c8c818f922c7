/**
 * Options of `node:net`, `node:tls` and `node:https` whose defaults are stricter than those of Go, and so of kubectl and the
 * CPI.
 */
export const CONNECTING = {
  /** The addresses of a name are tried one after the other. */
  autoSelectFamily: true,
  /**
   * Milliseconds for each of them but the last. Node's default of 250 is shorter than some round trips: a name of which one
   * address leads nowhere would then never be reached. Long enough for one lost packet to be sent again.
   */
  autoSelectFamilyAttemptTimeout: 3_000,
  /** A CA file may have an intermediate CA without its root, or the server's own certificate. */
  allowPartialTrustChain: true,
} as const
