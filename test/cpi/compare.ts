/** Compares what the CPI's own code and ours make of the same files, Secrets and machines. */
import { isDeepStrictEqual } from 'node:util'
import ipaddr from 'ipaddr.js'
import { type Comparable, ours, theirs } from './comparable.ts'
import {
  askForAddresses,
  askForConfigs,
  askForCredentials,
  type Configured,
  type ReportedMachine,
  type WrittenConfig,
  type WrittenSecret,
} from './oracle.ts'
import { chooseFor, readConfig, readCredential } from './rollcall.ts'

/** What one of them makes of something, or why it takes nothing from it. */
export type ReadOutcome<T> = { readonly value: T } | { readonly refusal: string }

/** By who of them has a value, and whether it is the same. */
export type Verdict = 'same' | 'neither' | 'only the CPI' | 'only Rollcall' | 'different'

interface Compared<T> {
  readonly verdict: Verdict
  readonly cpi: ReadOutcome<T>
  readonly rollcall: ReadOutcome<T>
}

/** Of a new Node, in their order. */
export type ChosenAddresses = readonly { readonly type: string; readonly address: string }[]

function judge<T>(
  cpi: ReadOutcome<T>,
  rollcall: ReadOutcome<T>,
  form: (value: T) => unknown = (value) => value,
): Compared<T> {
  const verdict = (): Verdict => {
    if ('refusal' in cpi) return 'refusal' in rollcall ? 'neither' : 'only Rollcall'
    if ('refusal' in rollcall) return 'only the CPI'
    return isDeepStrictEqual(form(cpi.value), form(rollcall.value)) ? 'same' : 'different'
  }
  return { verdict: verdict(), cpi, rollcall }
}

function answer<T>(value: T | undefined, error = 'no answer'): ReadOutcome<T> {
  return value === undefined ? { refusal: error } : { value }
}

/** Has both read the files. */
export async function compareFiles(
  files: readonly WrittenConfig[],
): Promise<readonly Compared<Comparable>[]> {
  const said = await askForConfigs(files)
  return Promise.all(
    files.map(async (file, index) => {
      const { config, error } = said[index] ?? {}
      const own = await readConfig(file)
      return judge(
        answer(config && theirs(config, file.text), error),
        'value' in own ? { value: ours(own.value) } : own,
      )
    }),
  )
}

/** Has both find the credential of a server in a Secret. */
export async function compareSecrets(
  secrets: readonly WrittenSecret[],
): Promise<readonly Compared<string>[]> {
  const said = await askForCredentials(secrets)
  return secrets.map((secret, index) => {
    const { credential, error } = said[index] ?? {}
    if (credential === undefined) return judge(answer<string>(undefined, error), readCredential(secret))
    const { User, Password, VCSessionManagerURL: url, VCSessionManagerToken: token } = credential
    // As the CPI's package vclib takes it: a URL goes before user and password.
    return judge(answer(url === '' ? `${User}/${Password}` : `${url} ${token}`), readCredential(secret))
  })
}

/** Has both choose the addresses of each machine's new Node. */
export async function compareAddresses(
  configured: readonly Configured[],
): Promise<
  readonly (Compared<ChosenAddresses> & { readonly text: string; readonly machine: ReportedMachine })[]
> {
  const theirs = await askForAddresses(configured)
  const ours = await Promise.all(configured.map(chooseFor))
  return configured.flatMap(({ text, machines }, i) =>
    machines.map((machine, j) => {
      const { addresses, error } = theirs[i]?.[j] ?? {}
      const own = ours[i]?.[j] ?? { refusal: 'no answer' }
      return { text, machine, ...judge<ChosenAddresses>(answer(addresses, error), own, written) }
    }),
  )
}

/** As they are on the Node: the API server puts those of one type together when it takes the CPI's patch. */
function written(addresses: ChosenAddresses): unknown {
  const canonical = ({ address }: { readonly address: string }) =>
    ipaddr.isValid(address) ? ipaddr.process(address).toString() : address
  return [...Map.groupBy(addresses, ({ type }) => type)].map(([type, group]) => [type, group.map(canonical)])
}
