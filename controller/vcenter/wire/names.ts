/** Resolves names within a deadline, with the last known addresses if no name server answers. */
import type { LookupAddress } from 'node:dns'
import type { Clock } from '../../../agent/shared/clock.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { findAddresses, NameError, type NameSources } from './find-addresses.ts'

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
    void clock.sleep(DEADLINE, AbortSignal.any([signal, over.signal])).then(() => over.abort())
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
    const late = clock.sleep(patience, AbortSignal.any([signal, over.signal])).then(() => undefined)
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
