import ipaddr from 'ipaddr.js'
import { type AddressOutcome, askCPI, type Configured, type ReportedMachine } from './oracle.ts'
import { askRollcall } from './rollcall.ts'

export interface ComparedAddresses {
  readonly text: string
  readonly machine: ReportedMachine
  readonly cpi: AddressOutcome
  readonly rollcall: AddressOutcome
  readonly verdict: Verdict
}

export type Verdict =
  | 'same'
  | 'both wait'
  | 'only the CPI initializes it'
  | 'only Rollcall initializes it'
  | 'other addresses'

/** Has both choose the addresses of each machine's new Node. */
export async function compare(configured: readonly Configured[]): Promise<readonly ComparedAddresses[]> {
  const [theirs, ours] = await Promise.all([askCPI(configured), askRollcall(configured)])
  return configured.flatMap(({ text, machines }, i) =>
    machines.map((machine, j) => {
      const cpi = theirs[i]?.[j] ?? { error: 'no answer' }
      const rollcall = ours[i]?.[j] ?? { error: 'no answer' }
      return { text, machine, cpi, rollcall, verdict: verdictOf(cpi, rollcall) }
    }),
  )
}

function verdictOf(cpi: AddressOutcome, rollcall: AddressOutcome): Verdict {
  if ('error' in cpi) return 'error' in rollcall ? 'both wait' : 'only Rollcall initializes it'
  if ('error' in rollcall) return 'only the CPI initializes it'
  return written(cpi.addresses) === written(rollcall.addresses) ? 'same' : 'other addresses'
}

/** As they stand on the Node: the API server puts those of one type together when it takes the CPI's patch. */
function written(addresses: readonly { readonly type: string; readonly address: string }[]): string {
  const groups = Map.groupBy(addresses, ({ type }) => type)
  return [...groups]
    .map(([type, group]) => `${type} ${group.map(({ address }) => canonical(address)).join(' ')}`)
    .join(', ')
}

function canonical(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address
}
