import { anySignal } from '../../../agent/shared/any-signal.ts'
import { aborted, type Basics, firstAnswer, runTogether } from '../../lib/tasks.ts'
import type { Trouble } from '../../types/trouble.ts'
import type { Config, VCenterConfig, VCenterCredentials } from '../config.ts'
import { describeSource } from '../credential-source.ts'
import type { ConfigWatch } from '../watch.ts'
import { findCredential } from './find-credential.ts'
import { type SourceReads, type SourceState, sourceWatcher } from './watch-source.ts'

/** The configuration in force, with users and passwords from Secrets and folders. */
interface CredentialWatch extends Pick<ConfigWatch, 'current' | 'run'> {
  /** By name, each vCenter that has a source, and whether that gives its user and password now. */
  usable(): ReadonlyMap<string, boolean>
  /** Those whose source does not, and why. */
  troubles(): readonly Trouble[]
  /** The same, one line each, without particulars: anyone may read them. The log has the rest. */
  remarks(): readonly string[]
}

/** Milliseconds at least between two changes that are loaded. */
const INTERVAL = 2_000
/**
 * Each change restarts the work for all vCenters, and somebody who may write one Secret must not stop the others: this many
 * changes are free, and each counts for this many milliseconds.
 */
const FREE_CHANGES = 10
const CHANGE_COUNTS_FOR = 60_000

/** The credential of a vCenter that is in force, and the server that it is for. */
type Held = Pick<
  VCenterConfig,
  'server' | 'port' | 'user' | 'password' | 'userSource' | 'sessionManager' | 'oddity'
>

/**
 * Fills users and passwords into the configuration, while `run` lasts. Every replica does so: a mistake is reported
 * before it matters, and the next leader knows the credential even if its Secret is gone by then.
 *
 * Where a source gives no credential any more, or one that the configuration now names does not yet, the last one of the
 * same server stays in force.
 */
export function createCredentialWatch({
  configuration,
  watchSource,
  clock,
  logger,
}: {
  readonly configuration: Pick<ConfigWatch, 'current'>
  readonly watchSource: ReturnType<typeof sourceWatcher>
} & Pick<Basics, 'clock' | 'logger'>): CredentialWatch {
  const states = new Map<string, SourceState>()
  const held = new Map<string, Held>()
  /** What is wrong with a vCenter's source, by the vCenter's name. */
  const problems = new Map<string, string>()
  let news = Promise.withResolvers<void>()
  let base = configuration.current()
  let config = fill(base.config)
  let end = new AbortController()
  /** When no change counts any more, monotonic. */
  let calmAt = Number.NEGATIVE_INFINITY

  function fill(given: Config): Config {
    const names = new Set(given.vCenters.map(({ name }) => name))
    for (const known of [held, problems])
      for (const name of known.keys()) if (!names.has(name)) known.delete(name)
    const vCenters = given.vCenters.map((vCenter) => withCredential(vCenter, given.credentials[vCenter.name]))
    return { ...given, vCenters }
  }

  function withCredential(vCenter: VCenterConfig, source: VCenterCredentials | undefined): VCenterConfig {
    const { name, server, port } = vCenter
    if (source === undefined) {
      problems.delete(name)
      held.set(name, vCenter)
      return vCenter
    }
    const before = held.get(name)
    const last = before?.server === server && before.port === port ? before : undefined
    const found = look(source, server)
    if (found.state === 'found') {
      const { userKey, oddity, ...credential } = found.credential
      const now = {
        server,
        port,
        ...credential,
        userSource: `${describeSource(source)} under "${userKey}"`,
        ...(oddity === undefined ? {} : { oddity: `${describeSource(source)} ${oddity}` }),
      }
      tellTaken(name, source, now, last)
      held.set(name, now)
      return known(vCenter, now)
    }
    if (found.state === 'failed') tellProblem(name, found.message, last !== undefined)
    return last === undefined ? { ...vCenter, noCredential: found } : known(vCenter, last)
  }

  function look(source: VCenterCredentials, server: string) {
    const state = states.get(describeSource(source))
    if (state === undefined || state.state === 'pending') return { state: 'pending' } as const
    const found =
      state.state === 'read' ? findCredential(state.data, server) : { ok: false as const, ...state }
    if (found.ok) return { state: 'found', credential: found.value } as const
    const message = `no user and password for ${server}: ${describeSource(source)} ${found.message}`
    const denied = state.state === 'failed' && state.denied === true
    return { state: 'failed', message, ...(denied ? { denied } : {}) } as const
  }

  function tellTaken(
    vCenter: string,
    source: VCenterCredentials,
    { user, password, sessionManager, oddity }: Held,
    last: Held | undefined,
  ): void {
    const mended = problems.delete(vCenter)
    const [who, secret] = sessionManager === undefined ? ['user', 'password'] : ['session manager', 'token']
    const same = last?.user === user && last.sessionManager === sessionManager
    const changed = [...(same ? [] : [who]), ...(last?.password.equals(password) ? [] : [secret])]
    if (!mended && changed.length === 0) return
    logger.info({ vCenter, source: describeSource(source), changed }, 'credential loaded')
    if (oddity !== undefined) logger.warn({ vCenter, warning: oddity }, 'credential with white space')
  }

  function tellProblem(vCenter: string, error: string, goesOn: boolean): void {
    if (problems.get(vCenter) === error) return
    problems.set(vCenter, error)
    logger.warn(
      { vCenter, error },
      goesOn ? 'no credential any more; the last one stays in use' : 'no credential',
    )
  }

  /** Whether anything changed. */
  function update(): boolean {
    const now = configuration.current()
    const filled = fill(now.config)
    if (now.config === base.config && sameCredentials(config, filled)) return false
    base = now
    config = filled
    const before = end
    end = new AbortController()
    before.abort()
    return true
  }

  async function followNews(signal: AbortSignal): Promise<void> {
    const ended = aborted(signal)
    for (;;) {
      await Promise.race([news.promise, ended])
      if (signal.aborted) return
      news = Promise.withResolvers()
      const now = clock.monotonic()
      if (update()) calmAt = Math.max(calmAt, now) + CHANGE_COUNTS_FOR
      await clock.sleep(Math.max(INTERVAL, calmAt - now - FREE_CHANGES * CHANGE_COUNTS_FOR), signal)
    }
  }

  /** Follows the sources of the configuration that is in force now, until it is another. */
  async function followSources(signal: AbortSignal): Promise<void> {
    const { config, superseded } = configuration.current()
    const sources = new Map(Object.values(config.credentials).map((each) => [describeSource(each), each]))
    for (const key of states.keys()) if (!sources.has(key)) states.delete(key)
    const tasks = [...sources].map(([key, source]) =>
      watchSource(source, (state) => {
        states.set(key, state)
        news.resolve()
      }),
    )
    news.resolve()
    await runTogether([followNews, ...tasks], anySignal([signal, superseded]))
  }

  /** Whether there is a credential for the server that is configured now. */
  const inUse = (name: string) =>
    config.vCenters.some((vCenter) => vCenter.name === name && vCenter.noCredential === undefined)

  const troubles = (): readonly Trouble[] =>
    Array.from(problems, ([name, problem]) => {
      const rest = inUse(name) ? '; the last ones stay in use' : ''
      const what = `vCenter ${name}: its Secret or folder gives no user and password${rest}`
      const [text, message] = [`${what}; see the log`, `${what}: ${problem}`]
      return { key: credentialTrouble(name), text, message }
    })

  return {
    current() {
      if (configuration.current().config !== base.config) update()
      return { config, superseded: anySignal([base.superseded, end.signal]) }
    },
    async run(signal) {
      while (!signal.aborted) await followSources(signal)
    },
    usable: () =>
      new Map(
        Object.keys(config.credentials).map((name) => [name, inUse(name) && !problems.has(name)] as const),
      ),
    troubles,
    remarks: () => troubles().map(({ text }) => text),
  }
}

/** The key of a trouble with the user and password of a vCenter. */
export function credentialTrouble(vCenter: string): string {
  return `credential of ${vCenter}`
}

function known({ noCredential: _, ...vCenter }: VCenterConfig, held: Held): VCenterConfig {
  const { user, password, userSource, sessionManager, oddity } = held
  return {
    ...vCenter,
    user,
    password,
    ...(userSource === undefined ? {} : { userSource }),
    ...(sessionManager === undefined ? {} : { sessionManager }),
    ...(oddity === undefined ? {} : { oddity }),
  }
}

function sameCredentials(one: Config, other: Config): boolean {
  return one.vCenters.every(({ user, password, sessionManager, noCredential }, index) => {
    const after = other.vCenters[index]
    return (
      after?.user === user &&
      after.sessionManager === sessionManager &&
      after.password.equals(password) &&
      messageOf(after.noCredential) === messageOf(noCredential)
    )
  })
}

function messageOf(missing: VCenterConfig['noCredential']): string | undefined {
  return missing?.state === 'failed' ? missing.message : missing?.state
}

/**
 * Fills in the users and passwords that Secrets and folders have now. A vCenter whose source gives none has `noCredential`,
 * which is still pending where the time was over.
 *
 * @param within milliseconds for all Secrets and folders together
 * @throws the signal's reason when it aborts
 */
export async function readCredentials(
  { config, within, ...reads }: SourceReads & { readonly config: Config; readonly within: number },
  signal: AbortSignal,
): Promise<Config> {
  const { clock, logger } = reads
  const inForce = { config, superseded: new AbortController().signal }
  const credentials = createCredentialWatch({
    configuration: { current: () => inForce },
    watchSource: sourceWatcher(reads),
    clock,
    logger,
  })
  const pending = ({ noCredential }: VCenterConfig) => noCredential?.state === 'pending'
  const settled = () => (credentials.current().config.vCenters.some(pending) ? undefined : true)
  await firstAnswer(credentials.run, settled, within, clock, signal)
  signal.throwIfAborted()
  return credentials.current().config
}
