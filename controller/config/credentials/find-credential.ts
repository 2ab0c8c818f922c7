/**
 * Which credential a Secret has for a server: user and password in the CPI's two forms, or a session manager's URL and token
 * (its package credentialmanager, v1.36.0).
 */
import { printable } from '../../../agent/shared/printable.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { edgeOf } from '../findings.ts'
import { Secret } from '../secret.ts'
import { parseSessionManagerURL, parseUser } from '../settings/vcenter.ts'
import { MAX_VALUE, type SecretData } from './watch-source.ts'

/** As in `VCenterConfig`. */
export interface VCenterCredential {
  readonly user: string
  readonly password: Secret
  readonly sessionManager?: string
  /** What is odd about the user or the password, worded to follow what the Secret is called. */
  readonly oddity?: string
  /** The key that has the user or the URL, fit for a message. */
  readonly userKey: string
}

/** Characters; vCenter's own limit is shorter. */
const MAX_USER = 256

/** What a header can hold as a bearer token, and servers commonly take. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/

/** Keys that a message names at most, and how long each may be. */
const MAX_NAMES = 10
const MAX_NAME = 80

/**
 * Finds the credential of a server. A session manager's goes before user and password. `server_x`, `username_x` and
 * `password_x` go before `SERVER.username` and `SERVER.password`, as in the CPI. A newline at the end of a value counts only
 * in the first form, as there: in the second it is what `echo` has left. Other keys do not matter; the CPI refuses a Secret
 * for one that it does not know.
 *
 * @returns an error worded to follow what the Secret is called. It names keys, and never a value.
 */
export function findCredential(data: SecretData, server: string): Result<VCenterCredential> {
  const manager = sessionManager(data, server)
  if (manager !== undefined) return manager
  const suffixes = [...data].flatMap(([key, value]) => {
    const [, suffix] = /^server_(.+)$/.exec(key) ?? []
    return suffix !== undefined && canonical(value?.reveal() ?? '') === canonical(server) ? [suffix] : []
  })
  const [suffix, another] = suffixes
  if (suffix === undefined) return byServer(data, server)
  if (another !== undefined)
    return failed(
      `names ${server} under "${named(`server_${suffix}`)}" and under "${named(`server_${another}`)}": keep one of the two`,
    )
  return credential(data, `username_${suffix}`, `password_${suffix}`, 'as it is')
}

/** Undefined where no URL of one is written, or nothing in its place. */
function sessionManager(data: SecretData, server: string): Result<VCenterCredential> | undefined {
  const urlKey = keyLike(data, `${server}.vc-session-manager-url`)
  const written = data.get(urlKey)?.reveal()
  if (!data.has(urlKey) || written === '' || written === '\n') return undefined
  const tokenKey = keyLike(data, `${server}.vc-session-manager-token`)
  const url = textUnder(data, urlKey, 'without newline')
  if (!url.ok) return url
  const checked = parseSessionManagerURL(url.value.reveal())
  if (!checked.ok) return failed(`has under "${named(urlKey)}" a value that is refused: ${checked.message}`)
  // The CPI would send the token of its own service account.
  const token = textUnder(data, tokenKey, 'without newline')
  if (!token.ok) return token
  const edge = edgeOf(token.value.reveal())
  if (edge !== undefined)
    return failed(
      `has a token under "${named(tokenKey)}" that begins or ends with ${edge}: write the token alone`,
    )
  if (!TOKEN.test(token.value.reveal()))
    return failed(
      `has under "${named(tokenKey)}" something that is not a bearer token of at most 4096 characters: write the token alone`,
    )
  return ok({ user: '', password: token.value, sessionManager: checked.value, userKey: named(urlKey) })
}

function byServer(data: SecretData, server: string): Result<VCenterCredential> {
  const userKey = keyLike(data, `${server}.username`)
  const passwordKey = keyLike(data, `${server}.password`)
  return credential(data, userKey, passwordKey, 'without newline')
}

function credential(
  data: SecretData,
  userKey: string,
  passwordKey: string,
  how: 'as it is' | 'without newline',
): Result<VCenterCredential> {
  const user = textUnder(data, userKey, 'without newline')
  if (!user.ok) return user
  const password = textUnder(data, passwordKey, how)
  if (!password.ok) return password
  const checked = parseUser(user.value.reveal())
  if (!checked.ok) return failed(`has under "${named(userKey)}" a value that is refused: ${checked.message}`)
  const edge = edgeOf(checked.value)
  if (edge !== undefined && /\p{Cc}/u.test(checked.value))
    return failed(
      `has a user under "${named(userKey)}" that begins or ends with ${edge}: write the user's name alone`,
    )
  if (/\p{Cc}/u.test(checked.value))
    return failed(`has a control character under "${named(userKey)}": write the user's name alone`)
  if (checked.value.length > MAX_USER)
    return failed(
      `has more than ${MAX_USER} characters under "${named(userKey)}": write the user's name alone`,
    )
  const oddity = oddityOf('user', userKey, user.value) ?? oddityOf('password', passwordKey, password.value)
  return ok({
    user: checked.value,
    password: password.value,
    ...(oddity === undefined ? {} : { oddity }),
    userKey: named(userKey),
  })
}

/** A password may end with white space; what a file or an editor has left there looks the same. */
function oddityOf(what: 'user' | 'password', key: string, value: Secret): string | undefined {
  const edge = edgeOf(value.reveal())
  return edge === undefined
    ? undefined
    : `has a ${what} under "${named(key)}" that begins or ends with ${edge}, which is a part of it: remove it unless you want that`
}

function textUnder(data: SecretData, key: string, how: 'as it is' | 'without newline'): Result<Secret> {
  const text = data.get(key)?.reveal()
  const value = how === 'as it is' ? text : text?.replace(/\n$/, '')
  if (value) return ok(new Secret(value))
  if (value !== undefined) return failed(`has nothing under "${named(key)}": write the value there`)
  if (data.has(key))
    return failed(
      `has under "${named(key)}" a value that cannot be read, is not UTF-8, or is longer than ${MAX_VALUE} bytes: write the value there`,
    )
  return failed(`has no key "${named(key)}", ${keysOf(data)}: add it`)
}

/** The key as it is spelled there: names of hosts are the same in any case. */
function keyLike(data: SecretData, wanted: string): string {
  if (data.has(wanted)) return wanted
  for (const key of data.keys()) if (key.toLowerCase() === wanted.toLowerCase()) return key
  return wanted
}

function keysOf(data: SecretData): string {
  if (data.size === 0) return 'nor any other'
  const names = [...data.keys()].sort().slice(0, MAX_NAMES)
  const more = data.size - names.length
  const listed = names.map((name) => `"${named(name)}"`).join(', ')
  return `only ${listed}${more === 0 ? '' : ` and ${more} more`}`
}

function named(key: string): string {
  return printable(key, MAX_NAME)
}

/** Without the brackets that may surround IPv6. */
function canonical(server: string): string {
  return server
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
}
