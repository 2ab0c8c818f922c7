/** What a command line asks for: what only this program does, or what every program answers alike. */
export type CommandLine<Work> =
  | Work
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** One sentence; the exit code is 2. */
  | { readonly kind: 'wrong'; readonly message: string }

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Where the kubelet puts a Pod's token and the cluster's CA. */
export const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Gives memory that collections have freed back to the system. V8 keeps it in a pool for the next burst, and a regular
 * collection leaves the pool as it is. Stops everything for 8 ms in an agent, for some 100 ms at 40 MB of heap. Does nothing
 * without `--expose-gc`, which is built into the binaries.
 */
export function returnFreePages(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
