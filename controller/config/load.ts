import { dirname } from 'node:path'
import type { IdentityLevel } from '../../agent/shared/node-report.ts'
import { attempt } from '../../agent/shared/result.ts'
import { buildConfig } from './build-config.ts'
import { type Config, reaches } from './config.ts'
import { DEFAULT_FOLDER } from './credential-source.ts'
import { ConfigError, Findings, formatProblem, type Problem } from './findings.ts'
import type { Sections } from './given.ts'
import { looksLikeINI, readINI } from './ini.ts'
import {
  applyArguments,
  applyEnvironment,
  type Environment,
  type GivenArguments,
  initializationOf,
} from './overrides.ts'
import { createRememberingReader, type ReadFile, type RememberedFiles, readTextFile } from './read-files.ts'
import { readSections } from './read-sections.ts'
import type { ParseOptions } from './read-trust.ts'
import { IDENTITY } from './settings/identity.ts'
import { standardOf } from './settings/row.ts'
import type { ConfigTree } from './tree.ts'
import { readYAML } from './yaml.ts'

/** Real files have less than 4 kB. */
const MAX_BYTES = 256 * 1024
const MAX_PROBLEMS = 20

export interface LoadedConfig {
  readonly config: Config
  /** One line each, with file, line and column. */
  readonly warnings: readonly string[]
  /** Every file that was read for it. */
  readonly files: RememberedFiles
  /** Whether `identity.require` is given; where it is not, what it means depends on how the controller is started. */
  readonly requireGiven: boolean
}

/** Where the configuration comes from. */
export interface ConfigSource {
  readonly path: string
  readonly readFile: ReadFile
  /** The names of what is in a folder; fails as `node:fs` does, with a `code`. */
  readonly readFolder: (path: string) => Promise<readonly string[]>
  /** Variables that the CPI reads take precedence over the file. */
  readonly environment?: Environment
  /** If the command line has the CPI's form, it takes precedence over both. */
  readonly given?: GivenArguments
  /** The `identity.require` in force while a running process reads another file; undefined at its start. */
  readonly levelInForce?: IdentityLevel
}

/**
 * Reads and checks the CPI's configuration file, in YAML, JSON or INI, and the CA files it names. The environment takes precedence.
 *
 * @throws ConfigError with everything that is wrong; neither it nor a warning ever contains a password
 */
export async function loadConfig(source: ConfigSource): Promise<LoadedConfig> {
  const { path, readFile } = source
  const findings = new Findings()
  const reader = createRememberingReader(readFile)
  const loaded = await load({ ...source, readFile: reader.readFile }, findings)
  if (loaded === undefined || findings.problems.length > 0) throw new ConfigError(path, inOrder(findings))
  return {
    ...loaded,
    warnings: findings.warnings.map((warning) => formatProblem(path, warning)),
    files: reader.files,
  }
}

async function load(source: ConfigSource, findings: Findings) {
  const { path, readFile, readFolder, environment = {} } = source
  const read = await readTextFile(path, readFile, MAX_BYTES)
  const { ok: defaultFolder } = await attempt(() => readFolder(DEFAULT_FOLDER))
  const options = { folder: dirname(path), readFile, defaultFolder, findings }
  if (read.ok) return parseConfig(read.value, environment, options, source)
  findings.refuse('', undefined, read.message)
  return undefined
}

/**
 * Checks a file's text, whatever its form, with what the environment and the command line say.
 *
 * @returns undefined where it is wrong; what is wrong is in the findings
 */
export async function parseConfig(
  text: string,
  environment: Environment,
  options: ParseOptions,
  { given, levelInForce }: Pick<ConfigSource, 'given' | 'levelInForce'> = {},
): Promise<Pick<LoadedConfig, 'config' | 'requireGiven'> | undefined> {
  const { findings } = options
  try {
    if (refuseControl(text, findings)) return undefined
    const tree = readTree(text, findings)
    if (tree === undefined) {
      if (!findings.wrong) findings.refuse('', undefined, `is empty: write it as in ${EXAMPLE}`)
      return undefined
    }
    // What could not be read may be what seems to be missing, so nothing is reported as missing.
    const partial = findings.wrong
    const read = readSections(tree, findings)
    if (read === undefined || partial) return undefined
    const said = applyEnvironment(read, environment, findings)
    const sections = applyArguments(said, given, findings)
    keepLevel(said.identity, sections.identity, levelInForce, findings)
    const config = await buildConfig(sections, initializationOf(given), options)
    return config && { config, requireGiven: sections.identity.require !== undefined }
  } finally {
    findings.nameInvisible(text)
  }
}

/** Reads a file's text, whatever its form; what is wrong is in the findings. */
export function readTree(text: string, findings: Findings): ConfigTree | undefined {
  return looksLikeINI(text) ? readINI(text, findings) : readYAML(text, findings)
}

const EXAMPLE =
  '"vcenter: {vc1: {server: vc.example.com, user: NAME, password: \'TEXT\', datacenters: [DC1]}}"'

/** A zero byte and the like, which the CPI's YAML parser refuses too, and no request to vCenter can carry. UTF-16 is full of them. */
function refuseControl(text: string, findings: Findings): boolean {
  const lines = text.split('\n')
  const line = lines.findIndex((each) => CONTROL.test(each))
  if (line === -1) return false
  const column = (lines[line] ?? '').search(CONTROL) + 1
  const message = 'this is a control character: check that it is the right file, and UTF-8 text'
  findings.refuse('', { line: line + 1, column }, message)
  return true
}

/** Without what ends lines and indents, and what XML can carry. */
const CONTROL = /[^\P{Cc}\t\r\u007f-\u009f]/u

/** In the file's order, and only the first ones: a wrong file has more problems than anyone reads. */
function inOrder({ problems }: Findings): readonly Problem[] {
  const sorted = problems.toSorted(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
  if (sorted.length <= MAX_PROBLEMS) return sorted
  const message = `and ${sorted.length - MAX_PROBLEMS} more: check that it is the right file`
  return [...sorted.slice(0, MAX_PROBLEMS), { path: '', line: undefined, column: undefined, message }]
}

/**
 * Refuses a file without `identity.require` where that would lower the level in force: only an explicit value may lower it.
 *
 * @param said the file's section
 * @param meant the same with what the command line makes of it
 * @param inForce what a running process requires; undefined at its start, when nothing can be lowered
 */
function keepLevel(
  said: Sections['identity'],
  meant: Sections['identity'],
  inForce: IdentityLevel | undefined,
  findings: Findings,
): void {
  if (inForce === undefined || said.require !== undefined || findings.refused('identity.require')) return
  const level = meant.require?.value ?? standardOf(IDENTITY, 'require')
  if (reaches(level, inForce)) return
  const why = meant.require === undefined ? '' : 'with the arguments of the CPI '
  const message = `is no longer set, which ${why}means ${level}, less than ${inForce}: write it again, or write "require: ${level}" under "identity" if you want that; a process that starts with this file uses ${level}`
  findings.refuse('identity.require', undefined, message)
}
