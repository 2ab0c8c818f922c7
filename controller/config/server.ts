import { isIP } from 'node:net'
import type { Result } from './result.ts'
import { shapeOfText } from './tree.ts'

/**
 * A host name or IP address as it goes into a URL's host or a certificate check: IPv6 without brackets. Whatever else
 * people write there (a URL, a port, a path) is refused with what to write instead.
 */
export function parseServer(text: string): Result<string> {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text
  if (isIP(bare) !== 0) return { ok: true, value: bare }
  if (isHostName(bare) && bare === text) return { ok: true, value: text }
  if (/^[\d.]+$/.test(text))
    return wrong(`got ${shapeOfText(text)} that looks like an IPv4 address but is none`)
  return wrong(takeApart(text))
}

/** RFC 1123, and the underscore that internal DNS zones have. */
function isHostName(text: string): boolean {
  if (text.length > 253 || /^[\d.]+$/.test(text)) return false
  return text
    .replace(/\.$/, '')
    .split('.')
    .every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label))
}

function takeApart(text: string): string {
  const match =
    /^(?<scheme>[a-z]+:\/\/)?(?<host>\[[^\]]*\]|[^:/?#@]*)(:(?<port>\d{1,5}))?(?<path>[/?#].*)?$/i.exec(text)
  const { scheme, host = '', port, path } = match?.groups ?? {}
  const bare = host.replaceAll(/[[\]]/g, '')
  if (match === null || (isIP(bare) === 0 && !isHostName(bare))) return `got ${shapeOfText(text)}`
  const extra = [
    ...(scheme === undefined ? [] : ['a scheme']),
    ...(port === undefined ? [] : ['a port']),
    ...(path === undefined ? [] : ['a path']),
  ].join(' and ')
  const instead = [`"server: ${bare}"`, ...(port === undefined ? [] : [`"port: ${port}"`])].join(' and ')
  return `got one with ${extra}: write ${instead}`
}

function wrong(got: string): Result<never> {
  return { ok: false, message: `expected a host name or IP address, ${got}` }
}
