/** The way to a vCenter, step by step, so that a failure names the step: its clients take all of them at once. */
import { connect, isIP } from 'node:net'
import { CONNECTING } from '../../../agent/shared/connecting.ts'
import { fine, warn } from '../../../agent/shared/diagnosis.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { listed } from '../../lib/format.ts'
import type { Names } from '../../vcenter/wire/names.ts'
import { trustConnector } from '../../vcenter/wire/trust.ts'
import { checkOf, Denied } from './check.ts'

const TCP_TIMEOUT = 10_000
const DAY = 24 * 3_600_000
/** Days before its expiry that a certificate should be renewed. */
const RENEW_WITHIN = 30

/** What is known of a vCenter without a look. */
export interface VCenterGiven {
  /** As `host:port`. */
  readonly server: string
  readonly trust: VCenterConfig['trust']['kind']
  /** Milliseconds since the epoch, by the clock of this machine. */
  readonly now: number
}

const check = checkOf<
  {
    readonly config: VCenterConfig
    readonly server: string
    readonly isController: () => Promise<boolean>
    /** As the controller resolves them. */
    readonly names: Names
  },
  VCenterGiven
>()

export const REACH = {
  dns: check({
    name: 'DNS',
    /** The addresses of the server's name, resolved as the controller resolves it. An IP address is used as it is. */
    async look({ config: { server }, names }): Promise<readonly string[]> {
      if (isIP(server) !== 0) return [server]
      try {
        const found = await names.addressesOf(server)
        return found.map(({ address }) => address)
      } catch (cause) {
        throw new Error(
          `the name ${server} cannot be resolved (${codeOf(cause)}); correct "server", or the DNS of this machine or Pod`,
          { cause },
        )
      }
    },
    judge(found, { server }) {
      const [only = ''] = found
      return fine(
        server.includes(only) ? 'an IP address: there is no name to resolve' : `resolves to ${listed(found)}`,
      )
    },
  }),
  tcp: check({
    name: 'TCP',
    after: 'dns',
    async look({ config: { server, port }, names: { lookup } }, signal): Promise<undefined> {
      const failure = await new Promise<string | undefined>((resolve) => {
        const socket = connect({ ...CONNECTING, host: server, port, lookup, timeout: TCP_TIMEOUT, signal })
        const settle = (code: string | undefined) => {
          socket.destroy()
          resolve(code)
        }
        socket
          .once('connect', () => settle(undefined))
          .once('timeout', () => settle('ETIMEDOUT'))
          .on('error', (error) => settle(codeOf(error)))
      })
      if (failure === undefined) return undefined
      const next =
        failure === 'ECONNREFUSED'
          ? 'nothing listens there: correct "server" or "port", or start the vCenter'
          : 'check routes, firewalls and NetworkPolicies between this machine or Pod and the vCenter'
      throw new Error(`no connection to port ${port} of ${server} (${failure}); ${next}`)
    },
    judge: () => fine('the port is open'),
  }),
  tls: check({
    name: 'TLS',
    after: 'tcp',
    /** Makes the handshake and judges the certificate as every connection to vCenter does. */
    async look({ config: { server, port, trust }, server: authority, names }, signal) {
      let expiresAt: number | undefined
      const onCertificate = (at: number) => {
        expiresAt = at
      }
      const open = trustConnector({
        trust,
        server: authority,
        names,
        signal,
        onCertificate,
      })
      await new Promise<void>((resolve, reject) => {
        open({ hostname: server, port: String(port), protocol: 'https:' }, (error, socket) => {
          socket?.destroy()
          if (error === null) resolve()
          else reject(asWords(error, authority))
        })
      })
      return { expiresAt }
    },
    judge({ expiresAt }, { trust, now }) {
      const days = expiresAt === undefined ? undefined : Math.floor((expiresAt - now) / DAY)
      const until = days === undefined ? '' : `, and expires in ${days} days`
      if (trust === 'insecure')
        return warn(
          `the certificate is not checked${until}: anyone in between can read the password; configure caFile or thumbprint`,
        )
      const how =
        trust === 'thumbprint' ? 'has the configured thumbprint' : 'is trusted and valid for this name'
      if (days !== undefined && days < RENEW_WITHIN)
        return warn(
          `the certificate ${how}, ${days < 0 ? `but expired ${-days} days ago` : `but expires in ${days} days`}; renew it in vCenter${trust === 'thumbprint' ? ', but first add the new thumbprint beside the old one' : ''}`,
        )
      return fine(`the certificate ${how}${until}`)
    },
  }),
  credential: check({
    name: 'credential',
    after: 'tls',
    async look({ config: { noCredential, oddity }, isController }) {
      if (noCredential?.state === 'pending') throw new Error(NOT_READ)
      if (noCredential?.denied === true && !(await isController())) throw new Denied(noCredential.message)
      if (noCredential !== undefined) throw new Error(noCredential.message)
      return oddity
    },
    judge: (oddity) => (oddity === undefined ? fine('user and password are there') : warn(oddity)),
  }),
}

const NOT_READ =
  'user and password are not known, because their Secret or folder was not read in time; see the line "API server"'

/** The system's and TLS's own messages name neither the server nor a next step. */
function asWords(error: Error, authority: string): Error {
  if (!('code' in error)) return error
  return new Error(
    `${authority} aborts the TLS handshake (${codeOf(error)}); check "server" and "port", and whether a proxy is in between`,
    { cause: error },
  )
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  if (error instanceof Error) return 'code' in error ? String(error.code) : error.message
  return String(error)
}
