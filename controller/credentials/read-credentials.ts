import type { Config } from '../config/config.ts'
import { runTogether } from '../tasks.ts'
import { createCredentialWatch } from './credential-watch.ts'
import { type SourceReads, sourceWatcher } from './watch-source.ts'

export interface ReadCredentialsOptions extends SourceReads {
  readonly config: Config
  /** Milliseconds for all Secrets and folders together. */
  readonly within: number
}

/** Milliseconds between two looks whether all are read. */
const POLL_INTERVAL = 100

/**
 * Fills in the users and passwords that Secrets and folders have now. A vCenter whose source gives none has `noCredential`,
 * which is still pending where the time was over.
 *
 * @throws the signal's reason when it aborts
 */
export async function readCredentials(options: ReadCredentialsOptions, signal: AbortSignal): Promise<Config> {
  const { config, within, clock, logger } = options
  const inForce = { config, superseded: new AbortController().signal }
  const credentials = createCredentialWatch({
    configuration: { current: () => inForce },
    watchSource: sourceWatcher(options),
    clock,
    logger,
  })
  const settled = async (signal: AbortSignal) => {
    const end = clock.monotonic() + within
    while (isPending(credentials.current().config) && clock.monotonic() < end && !signal.aborted)
      await clock.sleep(POLL_INTERVAL, signal)
  }
  await runTogether([credentials.run, settled], signal)
  signal.throwIfAborted()
  return credentials.current().config
}

function isPending({ vCenters }: Config): boolean {
  return vCenters.some(({ noCredential }) => noCredential?.state === 'pending')
}
