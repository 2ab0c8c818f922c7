import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ControlClient } from './control.ts'

export interface RecordedLogin {
  user: string
  password: string
  accepted: boolean
}

export interface RenewOptions {
  /** Seconds; a week unless given. */
  validSeconds?: number
}

export interface Lockout {
  /** So many failures lock the account. */
  failures: number
  /** Counted from the first of them. */
  withinSeconds: number
  unlockSeconds: number
}

/** What an administrator changes of a vCenter that runs. Sessions outlive all of it. */
export interface VcsimRenewals {
  /** Gives the account another password; `govc` keeps the former. */
  setPassword(password: string): Promise<void>
  /** Every attempt to log in so far, by SOAP or REST. */
  logins(): Promise<RecordedLogin[]>
  /** Locks the account from now on after failed logins, as vCenter does; the simulator by itself never does. */
  setLockout(policy: Lockout): Promise<void>
  isLocked(): Promise<boolean>
  /** Writes another certificate to the same file; the former is shown until `showCertificate`. */
  makeCertificate(options?: RenewOptions): Promise<X509Certificate>
  /** Shows the certificate that was made last to whoever connects, and closes all connections. */
  showCertificate(): Promise<void>
}

export function createRenewals(control: ControlClient, certificateFile: string): VcsimRenewals {
  return {
    setPassword: (password) => control.call('POST', '/password', { password }),
    logins: () => control.call('GET', '/logins'),
    setLockout: (policy) => control.call('PUT', '/lockout', policy),
    isLocked: async () => (await control.call<{ locked: boolean }>('GET', '/lockout')).locked,
    async makeCertificate({ validSeconds = 7 * 24 * 3600 } = {}) {
      await control.call('POST', '/certificate', { validSeconds })
      return new X509Certificate(await readFile(certificateFile))
    },
    showCertificate: () => control.call('PUT', '/certificate'),
  }
}
