/** Values that both forms of the command line have: ours and the CPI's. */
import { isIP } from 'node:net'
import { failed, ok, type Result } from '../../agent/shared/result.ts'
import type { LeaseFlags, ListenAddress } from '../options.ts'

const WRONG_LISTEN = '--listen: expected ADDRESS:PORT, as in 0.0.0.0:10270, [::]:10270 or :10270, or off'

/** @param flags how each of the two is spelt on this command line */
export function checkLease(
  leaseNamespace: string,
  leaseName: string,
  flags: { readonly namespace: string; readonly name: string },
): Result<LeaseFlags> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(leaseNamespace))
    return failed(`${flags.namespace}: expected the name of a namespace, lower case, at most 63 characters`)
  if (leaseName.length > 253 || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(leaseName))
    return failed(`${flags.name}: expected an object name, lower case, at most 253 characters`)
  return ok({ leaseNamespace, leaseName })
}

/** @returns undefined for `off` */
export function parseListen(text: string): Result<ListenAddress | undefined> {
  if (text === 'off') return ok(undefined)
  const match = /^(\[(?<v6>[^\]]+)\]|(?<other>[^:[\]]*)):(?<port>\d{1,5})$/.exec(text)
  const { v6, other, port } = match?.groups ?? {}
  if (port === undefined || Number(port) > 65535) return failed(WRONG_LISTEN)
  const host = v6 ?? other ?? ''
  const known = v6 === undefined ? host === '' || host === 'localhost' || isIP(host) === 4 : isIP(v6) === 6
  return known ? ok({ host, port: Number(port) }) : failed(WRONG_LISTEN)
}
