import { isDeepStrictEqual } from 'node:util'
import { type Basics, every, follow } from '../lib/tasks.ts'
import type { Config, VCenterConfig } from './config.ts'
import { ConfigError } from './findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from './load.ts'
import { createRememberingReader, type RememberingReader, readAgain, sameFiles } from './read-files.ts'
import { namesOf } from './settings/row.ts'

export interface ConfigMetrics {
  /** The files were read and are valid; `at` is the time in seconds since the epoch. */
  configTaken(at: number): void
  /** The files are invalid now; the last valid configuration stays in force. */
  configRefused(): void
}

export interface ConfigWatch {
  /** The configuration in force: the last valid one. */
  current(): {
    readonly config: Config
    /** Aborts when another configuration has replaced it. */
    readonly superseded: AbortSignal
  }
  /** Why the files that are there now are refused; undefined while they are in force. */
  refusal(): string | undefined
  /** Checks the files regularly until the signal aborts. Throws only for a defect. */
  run(signal: AbortSignal): Promise<void>
}

/** Milliseconds between two checks; reading a few files of some kB takes well under one. */
const INTERVAL = 2_000

/**
 * Applies changes of the configuration file and of the files that it names: all of them, or none if anything is wrong. The
 * checks are the same as at start.
 *
 * The files are read regularly because no notification is reliable: the kubelet swaps a symbolic link above them, editors
 * rename or overwrite, network file systems notify nobody. A change counts only when two checks in a row have found the
 * same, because a half-written file may be valid but lack a vCenter.
 */
export function createConfigWatch(
  options: ConfigSource &
    Pick<Basics, 'clock' | 'logger'> & {
      /** As it was read at start. */
      readonly loaded: LoadedConfig
      readonly metrics: ConfigMetrics
    },
): ConfigWatch {
  const { readFile, loaded, clock, logger, metrics } = options
  let { config } = loaded
  let end = new AbortController()
  let refusal: string | undefined
  const look = follow<Pick<LoadedConfig, 'files'>, RememberingReader>(loaded, {
    look: ({ files }) => readAgain(files, readFile),
    same: (a, b) => sameFiles(a.files, b.files),
    settles: true,
    onChange: judge,
  })

  /** Checks exactly what was read, not a later state of the files. Another text may name other files. */
  async function judge(reader: RememberingReader): Promise<RememberingReader> {
    const asked = createRememberingReader(reader.readFile)
    const levelInForce = config.identity.require
    try {
      take(await loadConfig({ ...options, levelInForce, readFile: asked.readFile }))
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      metrics.configRefused()
      const problems = error.message.split('\n')
      refusal = problems.join('; ')
      logger.error({ problems }, 'configuration refused; the previous one stays in force')
    }
    return asked
  }

  function take(loaded: LoadedConfig): void {
    metrics.configTaken(clock.now() / 1000)
    refusal = undefined
    for (const warning of loaded.warnings) logger.warn({ warning }, 'configuration')
    const changed = changesOf(config, loaded.config)
    if (changed.length === 0) {
      logger.info('configuration read again, unchanged')
      return
    }
    logger.info({ changed }, 'configuration loaded')
    config = loaded.config
    const before = end
    end = new AbortController()
    before.abort()
  }

  metrics.configTaken(clock.now() / 1000)
  return {
    current: () => ({ config, superseded: end.signal }),
    refusal: () => refusal,
    run: every(INTERVAL, look, clock),
  }
}

/**
 * What differs between two configurations, as named in the file: `labels`, `vcenter.NAME`, `vcenter.NAME.password`. Empty
 * where they are the same. Never contains a setting's value.
 */
export function changesOf(before: Config, after: Config): readonly string[] {
  const names = new Set([...before.vCenters, ...after.vCenters].map(({ name }) => name))
  const vCenters = [...names].flatMap((name) => vCenterChanges(name, before, after))
  // Answers come in this order.
  const order = (config: Config) => config.vCenters.map(({ name }) => name)
  const moved = vCenters.length === 0 && !isDeepStrictEqual(order(before), order(after))
  return [
    ...vCenters,
    ...(moved ? ['vcenter'] : []),
    ...SECTIONS.filter((section) => !isDeepStrictEqual(before[section], after[section])),
  ]
}

const SECTIONS = [
  'labels',
  'labelRules',
  'identity',
  'lifecycle',
  'topology',
  'initialization',
  'nodes',
  'certificates',
] as const satisfies (keyof Config)[]

/** What the configuration holds by vCenter name, and the setting that it is named after. */
const BY_VCENTER = { ipFamilies: 'ipFamily', credentials: 'secretName' } as const

/** What happens to a vCenter when one of its settings changes; a setting that is missing here does not compile. */
const EFFECTS = {
  name: 'another vCenter',
  server: 'new inventory',
  port: 'new inventory',
  user: 'new inventory',
  trust: 'new inventory',
  datacenters: 'decided again',
  // Only a Secret itself can compare its text.
  password: 'compared apart',
  // Not a setting, and used only in messages.
  userSource: 'nothing',
  oddity: 'nothing',
  // Not a setting: it is in a Secret or a folder.
  sessionManager: 'new inventory, unnamed',
  // Not a setting. What cannot log in yet has nothing to lose.
  noCredential: 'new inventory, unnamed',
} as const satisfies Record<keyof VCenterConfig, string>

const SETTINGS = settingsWith('new inventory', 'new inventory, unnamed')

function settingsWith(...effects: readonly (typeof EFFECTS)[keyof VCenterConfig][]) {
  return namesOf(EFFECTS).filter((setting) => effects.includes(EFFECTS[setting]))
}

/** Whether both can use the same session, judged by address, user and trust. */
export function sameConnection(before: VCenterConfig, after: VCenterConfig): boolean {
  return SETTINGS.every((setting) => isDeepStrictEqual(before[setting], after[setting]))
}

function vCenterChanges(name: string, earlier: Config, later: Config): readonly string[] {
  const path = `vcenter.${name}`
  const [before, after] = [named(earlier, name), named(later, name)]
  if (before === undefined || after === undefined) return [path]
  const settings = settingsWith('new inventory', 'decided again')
  const changed: string[] = settings.filter((setting) => !isDeepStrictEqual(before[setting], after[setting]))
  if (!before.password.equals(after.password)) changed.push('password')
  for (const part of ['ipFamilies', 'credentials'] as const)
    if (!isDeepStrictEqual(earlier[part][name], later[part][name])) changed.push(BY_VCENTER[part])
  return changed.map((setting) => `${path}.${setting}`)
}

function named({ vCenters }: Config, name: string): VCenterConfig | undefined {
  return vCenters.find((vCenter) => vCenter.name === name)
}
