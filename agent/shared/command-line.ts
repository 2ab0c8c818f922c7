/** What a command line asks for: what only this program does, or what every program answers alike. */
export type CommandLine<Work> =
  | Work
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** One sentence; the exit code is 2. */
  | { readonly kind: 'wrong'; readonly message: string }

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
