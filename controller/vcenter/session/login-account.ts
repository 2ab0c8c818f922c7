/** What stands for an account: the names under which its logins are counted, and the words for it. */
import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { VCenterConfig } from '../../config/config.ts'

/**
 * The account to log in with, or the session manager that stands for it. The password is the one configured now; that of a
 * session manager is its token.
 */
export type Account = Pick<
  VCenterConfig,
  'name' | 'server' | 'port' | 'user' | 'password' | 'userSource' | 'sessionManager'
>

export function serverOf({ server, port }: Account): string {
  return `${isIPv6(server) ? `[${server}]` : server}:${port}`
}

/** What messages say of a login. */
export function wordsFor(account: Account) {
  const server = serverOf(account)
  const who = described(account)
  if (account.sessionManager !== undefined)
    return {
      another: `no further session of ${server} is asked of ${who}`,
      refused: `${who} refuses the configured token`,
      advice: "check the token, and the session manager's log",
    }
  return {
    another: `no further login to ${server} is attempted as ${who}`,
    refused: `${server} refuses ${who} with the configured password`,
    advice: 'check user and password',
  }
}

/** The user, or where it is where nobody has checked what that holds. */
function described({ user, userSource, sessionManager }: Account): string {
  if (sessionManager !== undefined) return `the session manager of ${userSource ?? 'the configuration'}`
  return userSource === undefined ? `the user ${user}` : `the user of ${userSource}`
}

/**
 * Identifies an account by the configured server, without naming the user, or the URL. Directories are case-insensitive.
 * Tenants may share a session manager, each with a token in a Secret of its own: that Secret tells them apart.
 */
export function nameOf(account: Account): string {
  return `${serverOf(account).toLowerCase()}/${hashOf(account)}`
}

/**
 * The same by vCenter's own identity (`about.instanceUuid`, lower case), whatever the server is called in the configuration;
 * undefined where that is not known.
 */
export function ownNameOf(account: Account, instanceUUID: string | undefined): string | undefined {
  // What is in another form is not written into the Lease.
  return instanceUUID !== undefined && UUID.test(instanceUUID)
    ? `${instanceUUID}/${hashOf(account)}`
    : undefined
}

/**
 * What its attempts are counted under besides, at `place`, a server or a vCenter's own identity. Each is shared with other
 * accounts:
 * - the user without a domain, however that is spelled. A name without one belongs to a domain that only vCenter knows, and a
 *   NetBIOS name does not tell the DNS name of its domain;
 * - where the credential comes from, so that a spelling nobody thought of is bounded too.
 */
export function sharedNamesOf(account: Account, place: string): readonly string[] {
  const { name, user, userSource, sessionManager } = account
  const source = `${place}/source-${hash(userSource ?? `entry ${name}`)}`
  return sessionManager === undefined ? [`${place}/${hash(userPart(user))}`, source] : [source]
}

/** `administrator` of `administrator@vsphere.local`, ` VSPHERE.LOCAL\\Administrator` and `Administrator`. */
function userPart(user: string): string {
  const plain = user.normalize('NFKC').replaceAll(INVISIBLE, '').toLowerCase()
  const part = plain.replace(/^.*[\\/]/s, '').replace(/@.*$/s, '')
  return part === '' ? plain : part
}

function hashOf({ user, sessionManager, userSource = '' }: Account): string {
  return hash(sessionManager === undefined ? user.toLowerCase() : `${sessionManager} ${userSource}`)
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

const INVISIBLE = /[\p{Z}\p{C}]/gu

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
