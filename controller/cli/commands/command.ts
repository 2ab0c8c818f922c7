/** What a command is, and what commands have in common. */
import { readdirSync } from 'node:fs'
import type { Clock } from '../../../agent/shared/clock.ts'
import { readRegularFile } from '../../../agent/shared/regular-file.ts'
import type { Result } from '../../../agent/shared/result.ts'
import { ConfigError } from '../../config/findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from '../../config/load.ts'
import type { Environment, GivenArguments } from '../../config/overrides.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import { createLogger } from '../../lib/log.ts'
import type { ProcessMemory } from '../../lib/memory.ts'
import type { GivenOptions, LeaseFlags, OptionName } from '../command-line/options.ts'

/** What only main.ts reads, and passes on. */
export interface Surroundings {
  readonly environment: Environment
  readonly clock: Clock
  readonly random: () => number
  readonly version: string
  readonly hostname: string
  /** Drawn at random, for what must be unique to this process. */
  readonly suffix: string
  readonly memory: ProcessMemory
  /** Opened when a person is asked. */
  readonly stdin: () => NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  /** Tells a person something that is not part of the answer itself. */
  readonly warn: (message: string) => void
}

/** A command, as the table has it. */
export interface CommandRow<Flags> {
  /** One sentence for the help, without a full stop. */
  readonly does: string
  /** What follows its name. */
  readonly operand?: {
    readonly name: string
    readonly words?: readonly string[]
    /** None, one or several; the parser joins them with spaces. */
    readonly many?: true
  }
  readonly required: readonly OptionName[]
  readonly optional: readonly OptionName[]
  /** What an option takes here, where that is more than elsewhere. */
  readonly words?: { readonly [Name in OptionName]?: readonly string[] }
  /** An error is one sentence that names the argument. */
  parse(values: GivenOptions): Result<Flags>
  /** Resolves to the exit code; what it throws is one sentence. */
  start(flags: Flags, surroundings: Surroundings, signal: AbortSignal): Promise<number>
}

export function command<Flags>(row: CommandRow<Flags>): CommandRow<Flags> {
  return row
}

/** What the leader's own parts are handed. */
export function partsOf(
  { leaseNamespace: namespace, leaseName: name }: LeaseFlags,
  { version, clock, random, warn }: Surroundings,
  level: Parameters<typeof createLogger>[0]['level'],
) {
  const logger = createLogger({ level, now: clock.now })
  return { lease: { namespace, name }, version, clock, random, warn, logger }
}

/** The file and what it names, as the system has them. */
export function configSource(path: string, environment: Environment, given?: GivenArguments): ConfigSource {
  return {
    path,
    readFile: async (path, maxBytes) => readRegularFile(path, maxBytes),
    readFolder: async (path) => readdirSync(path),
    environment,
    ...(given === undefined ? {} : { given }),
  }
}

/** Loads the configuration; undefined where it is wrong, which is said. */
export async function loadOrWarn(
  source: ConfigSource,
  warn: Surroundings['warn'],
): Promise<(ConfigSource & { readonly loaded: LoadedConfig }) | undefined> {
  try {
    return { ...source, loaded: await loadConfig(source) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    warn(error.message)
    return undefined
  }
}

/** @throws where there is no credential, and what the work throws */
export async function withClient<T>(
  credentials: Result<CredentialLocation>,
  { clock, version }: Pick<Surroundings, 'clock' | 'version'>,
  work: (client: KubeClient) => Promise<T>,
): Promise<T> {
  if (!credentials.ok) throw new Error(credentials.message)
  const userAgent = `rollcall-controller/${version}`
  const client = createKubeClient({ credentials: credentials.value, clock, userAgent })
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}
