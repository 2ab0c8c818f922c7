/**
 * How a connection is opened where Node's own defaults are stricter than those of Go, and so of kubectl and the CPI. For the
 * options of `node:net`, `node:tls` and `node:https`.
 */
export const CONNECTING = {
  /** The addresses of a name are tried one after the other. */
  autoSelectFamily: true,
  /**
   * Milliseconds for each of them but the last. Node's 250 are less than some round trips, and then a name with an address that
   * leads nowhere is never reached. Long enough for a packet that is lost and sent again.
   */
  autoSelectFamilyAttemptTimeout: 3_000,
  /** A CA file may have an intermediate CA without its root, or the server's own certificate. */
  allowPartialTrustChain: true,
} as const
