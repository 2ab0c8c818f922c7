/** The way to a vCenter, step by step, so that a failure names the step: its clients take all of them at once. */
import { lookup } from 'node:dns/promises'
import { connect, isIP } from 'node:net'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { trustConnector } from '../../vcenter/wire/trust.ts'
import { within } from './look.ts'

/** Milliseconds: more than a resolver with three servers, of which two are dead, takes. */
const DNS_TIMEOUT = 12_000
const TCP_TIMEOUT = 10_000

type Address = Pick<VCenterConfig, 'server' | 'port'>

/**
 * The addresses of its name, as the system resolves it; those of an IP address are itself.
 *
 * @throws Error with the next step
 */
export async function resolveName(
  { server }: Address,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (isIP(server) !== 0) return [server]
  try {
    const found = await within(DNS_TIMEOUT, 'DNS', lookup(server, { all: true }), clock, signal)
    return found.map(({ address }) => address)
  } catch (cause) {
    throw new Error(
      `the name ${server} cannot be resolved (${codeOf(cause)}); correct "server", or the DNS of this machine or Pod`,
      { cause },
    )
  }
}

/**
 * Opens a connection and closes it again.
 *
 * @throws Error with the next step
 */
export async function openPort({ server, port }: Address, signal: AbortSignal): Promise<undefined> {
  const failure = await new Promise<string | undefined>((resolve) => {
    const socket = connect({ host: server, port, timeout: TCP_TIMEOUT, signal })
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
      : 'check routes and firewalls between this machine or Pod and the vCenter'
  throw new Error(`no connection to port ${port} of ${server} (${failure}); ${next}`)
}

/**
 * Makes the handshake and judges the certificate as every connection to vCenter does.
 *
 * @returns when the certificate expires, milliseconds since the epoch; undefined where it does not say so
 * @throws VCenterError
 */
export async function checkCertificate(
  { server, port, trust }: Address & Pick<VCenterConfig, 'trust'>,
  authority: string,
  signal: AbortSignal,
): Promise<{ readonly expiresAt: number | undefined }> {
  let expiresAt: number | undefined
  const onCertificate = (at: number) => {
    expiresAt = at
  }
  const open = trustConnector({ trust, server: authority, signal, onCertificate })
  await new Promise<void>((resolve, reject) => {
    open({ hostname: server, port: String(port), protocol: 'https:' }, (error, socket) => {
      socket?.destroy()
      if (error === null) resolve()
      else reject(asWords(error, authority))
    })
  })
  return { expiresAt }
}

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
