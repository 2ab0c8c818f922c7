import { firstAnswer } from '../../lib/tasks.ts'
import type { Config } from '../config.ts'
import { createCredentialWatch } from './credential-watch.ts'
import { type SourceReads, sourceWatcher } from './watch-source.ts'

export interface ReadCredentialsOptions extends SourceReads {
  readonly config: Config
  /** Milliseconds for all Secrets and folders together. */
  readonly within: number
}

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
  const settled = () => (isPending(credentials.current().config) ? undefined : true)
  await firstAnswer(credentials.run, settled, within, clock, signal)
  signal.throwIfAborted()
  return credentials.current().config
}

function isPending({ vCenters }: Config): boolean {
  return vCenters.some(({ noCredential }) => noCredential?.state === 'pending')
}
