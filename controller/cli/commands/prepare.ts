import { readdirSync } from 'node:fs'
import { ok, type Result } from '../../../agent/shared/result.ts'
import type { GivenArguments } from '../../config/apply-arguments.ts'
import type { Environment } from '../../config/apply-environment.ts'
import { ConfigError } from '../../config/findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from '../../config/load.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import { readRegularFile } from '../../lib/read-regular-file.ts'

/** What `run`, `plan` and `explain` work with. */
export interface Prepared {
  readonly config: ConfigSource & { readonly loaded: LoadedConfig }
  readonly credentials: CredentialLocation
}

/** Why there is none, fit for standard error, and the exit code of `run`. */
export interface Unprepared {
  readonly message: string
  readonly exitCode: 1 | 2
}

/** Loads the configuration. What is wrong with it is said before what is wrong with the credential. */
export async function prepare(
  source: ConfigSource,
  credentials: Result<CredentialLocation>,
): Promise<Result<Prepared, Unprepared>> {
  let loaded: LoadedConfig
  try {
    loaded = await loadConfig(source)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { ok: false, message: error.message, exitCode: 1 }
  }
  if (!credentials.ok)
    return { ok: false, message: `rollcall-controller: ${credentials.message}`, exitCode: 2 }
  return ok({ config: { ...source, loaded }, credentials: credentials.value })
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
