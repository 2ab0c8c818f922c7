/** Values that both forms of the command line have: ours and the CPI's. */
import { isIP } from 'node:net'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { LeaseFlags, ListenAddress } from '../options.ts'

const WRONG_LISTEN = '--listen: expected ADDRESS:PORT, as in 0.0.0.0:10270, [::]:10270 or :10270, or off'

interface ObjectName {
  readonly namespace: string
  readonly name: string
}

/** @param flags how each of the two is spelled on this command line */
export function checkLease(namespace: string, name: string, flags: ObjectName): Result<LeaseFlags> {
  const checked = checkNames(namespace, name, flags)
  return checked.ok ? ok({ leaseNamespace: namespace, leaseName: name }) : checked
}

/** Whether an object of the API server can have these names: nothing else comes into a path. */
export function checkNames(namespace: string, name: string, flags: ObjectName): Result<ObjectName> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace))
    return failed(`${flags.namespace}: expected the name of a namespace, lower case, at most 63 characters`)
  if (name.length > 253 || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name))
    return failed(`${flags.name}: expected an object name, lower case, at most 253 characters`)
  return ok({ namespace, name })
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
