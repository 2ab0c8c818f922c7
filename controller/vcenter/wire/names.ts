/**
 * Resolves names within a deadline, with the last known addresses if no name server answers.
 *
 * A name is found as Go finds it in the CPI's static binary: in `/etc/hosts`, then by DNS with the search list of
 * `/etc/resolv.conf`. Names that neither has are left to getaddrinfo, because the system may have other sources: for a name
 * that only mDNS or systemd-resolved knows, name servers answer that there is none, or refuse or fail to say.
 *
 * Node.js uses getaddrinfo alone, which blocks one of the process's four threads until it is done, even if nobody waits any
 * more. At most two of them resolve names: two vCenters whose name servers are silent would block all others. So getaddrinfo is
 * not asked where they are silent, and for one name at a time, which leaves the other thread to everybody else.
 */
import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { anySignal } from '../../../agent/shared/any-signal.ts'
import type { Clock } from '../../../agent/shared/clock.ts'
import { readRegularFile } from '../../../agent/shared/regular-file.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { untilAborted } from '../../lib/tasks.ts'
import { createTurns } from '../../lib/turns.ts'

/** Milliseconds: less than a connection may take, so that the error names DNS as the cause. */
const DEADLINE = 8_000
/** The same if there are last known addresses. */
const DEADLINE_WITH_LAST = 1_000

const SYSTEM: NameSources = { hostsFile: '/etc/hosts', resolverFile: '/etc/resolv.conf' }

export interface Names {
  /**
   * The addresses of a name, at least one, IPv4 first. If no name server answers, the last known ones: the certificate still
   * shows whether they are the right ones. Throws a {@link NameError}.
   */
  addressesOf(name: string): Promise<readonly LookupAddress[]>
  /** The same in the form that `node:net` calls. */
  lookup(
    name: string,
    options: object,
    answer: (error: Error | null, addresses: LookupAddress[]) => void,
  ): void
}

/** @param options the signal ends all that is under way */
export function createNames(options: {
  readonly clock: Pick<Clock, 'sleep'>
  readonly signal: AbortSignal
  readonly sources?: NameSources
  /** Asks the name servers. */
  readonly find?: typeof findAddresses
}): Names {
  const { clock, signal, sources = SYSTEM, find = findAddresses } = options
  const last = new Map<string, readonly LookupAddress[]>()
  /** One search at a time for each name. */
  const searches = new Map<string, ReturnType<typeof search>>()

  async function search(name: string) {
    const over = new AbortController()
    void clock.sleep(DEADLINE, anySignal([signal, over.signal])).then(() => over.abort())
    const found = await attempt(() => find(name, sources, clock, over.signal))
    over.abort()
    searches.delete(name)
    if (found.ok) last.set(name, found.value)
    return found
  }

  async function addressesOf(name: string): Promise<readonly LookupAddress[]> {
    const before = last.get(name)
    const searching = searches.get(name) ?? search(name)
    searches.set(name, searching)
    const over = new AbortController()
    const patience = before === undefined ? DEADLINE : DEADLINE_WITH_LAST
    const late = clock.sleep(patience, anySignal([signal, over.signal])).then(() => undefined)
    const found = await Promise.race([searching, late])
    over.abort()
    if (found?.ok) return found.value
    const error = found?.error ?? new NameError('EAI_AGAIN', name)
    const unanswered = error instanceof NameError && error.code === 'EAI_AGAIN'
    if (before === undefined || !unanswered) throw error
    return before
  }

  return {
    addressesOf,
    lookup(name, _, answer) {
      addressesOf(name).then(
        (addresses) => answer(null, [...addresses]),
        (error: Error) => answer(error, []),
      )
    },
  }
}

/** Milliseconds for each name server in turn; the second time, c-ares gives them twice as long. */
const QUERY = { timeout: 2_000, tries: 2 }
/** Milliseconds to wait for the other family: some name servers never answer for IPv6. */
const OTHER_FAMILY = 500
const MAX_BYTES = 1 << 20

/** The system's files for resolving names. */
interface NameSources {
  readonly hostsFile: string
  readonly resolverFile: string
  /** Used instead of the system's name servers. */
  readonly servers?: readonly string[]
  /** Used instead of the system's. */
  readonly getaddrinfo?: (name: string) => Promise<readonly LookupAddress[]>
}

/** Of all connections: the threads are the process's. */
const takeTurns = createTurns()
const GETADDRINFO = 'getaddrinfo'

/** A name without addresses. The codes are those of getaddrinfo: it does not exist, or no name server could say. */
export class NameError extends Error {
  override readonly name = 'NameError'
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN'

  constructor(code: 'ENOTFOUND' | 'EAI_AGAIN', name: string, cause?: unknown) {
    super(`the name ${name} ${code === 'ENOTFOUND' ? 'is not known' : 'was not resolved'}`, { cause })
    this.code = code
  }
}

/** Its addresses, at least one, those of IPv4 first. Throws a {@link NameError}. */
async function findAddresses(
  name: string,
  { hostsFile, resolverFile, servers, getaddrinfo = bySystem }: NameSources,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const written = inHosts(read(hostsFile), name)
  if (written.length > 0) return written
  // A new one reads the system's name servers again.
  const resolver = new Resolver(QUERY)
  if (servers !== undefined) resolver.setServers(servers)
  const over = new AbortController()
  const ended = anySignal([signal, over.signal])
  const cancel = () => resolver.cancel()
  ended.addEventListener('abort', cancel, { once: true })
  if (ended.aborted) throw new NameError('EAI_AGAIN', name)
  let failure: unknown
  try {
    let silence: unknown
    for (const candidate of searched(read(resolverFile), name)) {
      const found = await ask(resolver, candidate, clock, ended)
      if (found.addresses.length > 0) return found.addresses
      silence ??= found.errors.find((error) => SILENCE.has(codeOf(error)))
      failure ??= found.errors.find((error) => !ABSENCE.has(codeOf(error)))
    }
    // Nobody would answer getaddrinfo either, and that takes long.
    if (silence !== undefined) throw new NameError('EAI_AGAIN', name, silence)
  } finally {
    over.abort()
  }
  try {
    const turn = takeTurns(GETADDRINFO, () => getaddrinfo(name), signal)
    return await untilAborted(turn, signal)
  } catch (cause) {
    // That the other sources lack the name says nothing of a name server that could not say.
    if (failure === undefined && codeOf(cause) === 'ENOTFOUND') throw new NameError('ENOTFOUND', name, cause)
    throw new NameError('EAI_AGAIN', name, failure ?? cause)
  }
}

const bySystem = (name: string) => lookup(name, { all: true })

/** Errors of c-ares where no name server has answered. */
const SILENCE: ReadonlySet<string> = new Set(['ETIMEOUT', 'ECANCELLED'])
/** Where one says that there is no such name or address, or DNS can have no such name. Any other error says nothing of it. */
const ABSENCE: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/** Asks for both families at once; the errors are of those for which no address was found. */
async function ask(
  resolver: Resolver,
  name: string,
  clock: Pick<Clock, 'sleep'>,
  ended: AbortSignal,
): Promise<{ readonly addresses: readonly LookupAddress[]; readonly errors: readonly unknown[] }> {
  const addresses: LookupAddress[] = []
  const errors: unknown[] = []
  const query = async (family: 4 | 6) => {
    try {
      const found = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name))
      addresses.push(...found.map((address) => ({ address, family })))
    } catch (error) {
      errors.push(error)
      throw error
    }
  }
  const both = [query(4), query(6)]
  const enough = Promise.any(both).then(
    () => clock.sleep(OTHER_FAMILY, ended),
    () => undefined,
  )
  await Promise.race([Promise.allSettled(both), enough])
  return { addresses: addresses.toSorted((a, b) => a.family - b.family), errors }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** Empty where it is not there: many images have none. */
function read(file: string): string {
  try {
    return readRegularFile(file, MAX_BYTES).toString('utf8')
  } catch {
    return ''
  }
}

function inHosts(text: string, name: string): LookupAddress[] {
  const wanted = name.toLowerCase().replace(/\.$/, '')
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().split(/\s+/))
    .filter(([, ...names]) => names.some((each) => each.toLowerCase() === wanted))
    .map(([address = '']) => ({ address, family: isIP(address) }))
    .filter(({ family }) => family !== 0)
    .toSorted((a, b) => a.family - b.family)
}

/** The full names that a name may mean, in order: resolv.conf(5). */
function searched(text: string, name: string): readonly string[] {
  if (name.endsWith('.')) return [name]
  let [domains, dots]: [readonly string[], number] = [[], 1]
  for (const line of text.split('\n')) {
    const [keyword = '', ...values] = line.trim().split(/\s+/)
    if (['search', 'domain'].includes(keyword)) domains = values.filter((each) => each !== '.')
    if (keyword !== 'options') continue
    const written = values
      .map((each) => /^ndots:(\d{1,2})$/.exec(each)?.[1])
      .find((each) => each !== undefined)
    if (written !== undefined) dots = Number(written)
  }
  const below = domains.map((domain) => `${name}.${domain}`)
  return name.split('.').length > dots ? [name, ...below] : [...below, name]
}
