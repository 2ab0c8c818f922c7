import {
  type CheckResult,
  chain,
  fail,
  fine,
  judgeClock,
  type Line,
  skip,
  warn,
} from '../../../agent/shared/diagnosis.ts'
import { isPath, matchesDatacenter } from '../../config/datacenter-pattern.ts'
import { count, listed } from '../../lib/listed.ts'
import type { CategoryFacts, DatacenterFacts, LoginFacts, SessionCounts, VCenterFacts } from './facts.ts'
import { type Looked, resultOf } from './look.ts'

const DAY = 24 * 3_600_000
/** Days before its expiry that a certificate should be renewed. */
const RENEW_WITHIN = 30
/** vCenter allows 3,000 in all (8.0 U3), and 500 to 550 for each user at its REST interface. */
const MOST_SESSIONS = 2_400
const MOST_OWN_SESSIONS = 400

/** The lines for one vCenter, in the order in which each depends on those before it. */
export function judgeVCenter(facts: VCenterFacts, now: number): readonly Line[] {
  const name = (check: string) => `vCenter ${facts.name}: ${check}`
  const after = <T>(seen: T | undefined, judge: (seen: T) => CheckResult) =>
    seen === undefined ? undefined : judge(seen)
  const credential =
    facts.noCredential === undefined ? fine('user and password are there') : fail(facts.noCredential)
  return chain([
    [name('DNS'), resultOf(facts.dns, (found) => judgeName(facts, found))],
    [name('TCP'), after(facts.tcp, (tcp) => resultOf(tcp, () => fine('the port is open')))],
    [name('TLS'), after(facts.tls, (tls) => judgeCertificate(facts, tls, now))],
    [name('credential'), facts.tls?.ok === true ? credential : undefined],
    [name('login'), after(facts.login, judgeLogin)],
    [name('sessions'), after(facts.sessions, judgeSessions)],
    [name('privileges'), after(facts.privileges, judgePrivileges)],
    [name('datacenters'), after(facts.datacenters, judgeDatacenters)],
    [name('tag categories'), after(facts.categories, judgeCategories)],
    [name('clock'), after(facts.skew, (skew) => resultOf(skew, (ms) => judgeClock('vCenter', ms)))],
  ])
}

/** A line for each identity that several servers give. */
export function judgeTwins(vCenters: readonly VCenterFacts[]): readonly Line[] {
  const known = vCenters.filter(({ identity }) => identity !== undefined && identity.instanceUUID !== '')
  return [...Map.groupBy(known, ({ identity }) => identity?.instanceUUID)]
    .filter(([, group]) => new Set(group.map(({ identity }) => identity?.server)).size > 1)
    .map(([instanceUUID, group]) => {
      const names = listed(group.map(({ name, server }) => `${name} (${server})`))
      return {
        check: `vCenters ${listed(group.map(({ name }) => name))}: identity`,
        ...warn(
          `${names} say that they are one (instance UUID ${instanceUUID}), so what one alone says of a VM is not believed; take a clone out of the configuration, or write one server name if they are one`,
        ),
      }
    })
}

function judgeName({ server }: VCenterFacts, found: readonly string[]): CheckResult {
  const [only = ''] = found
  return fine(
    server.includes(only) ? 'an IP address: there is no name to resolve' : `resolves to ${listed(found)}`,
  )
}

function judgeCertificate(
  { trust }: VCenterFacts,
  tls: NonNullable<VCenterFacts['tls']>,
  now: number,
): CheckResult {
  return resultOf(tls, ({ expiresAt }) => {
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
  })
}

function judgeLogin(login: NonNullable<VCenterFacts['login']>): CheckResult {
  if (!login.ok) return fail(login.message)
  const { alone }: LoginFacts = login.value
  return fine(
    `user and password are accepted${alone === undefined ? '' : `; not counted with the leader's attempts, because ${alone}`}`,
  )
}

function judgeSessions(seen: Looked<SessionCounts>): CheckResult {
  if (!seen.ok && seen.noPermission)
    return skip(
      'the vCenter account may not list sessions, and does not need to; look at Monitor > Sessions in the vSphere Client if logins fail',
    )
  return resultOf(seen, ({ all, own }) => {
    const counts = `${all} are open, ${own} of this account`
    if (own > MOST_OWN_SESSIONS || all > MOST_SESSIONS)
      return warn(
        `${counts}; vCenter refuses logins at about 3,000, or 500 per account at its REST interface: find out what leaves sessions open, and give Rollcall an account of its own`,
      )
    return fine(counts)
  })
}

function judgePrivileges(seen: NonNullable<VCenterFacts['privileges']>): CheckResult {
  return resultOf(seen, (proofs) => {
    const lacking = proofs.flatMap((proof) => (proof.state === 'unproven' ? [proof.failure.message] : []))
    const [first] = lacking
    if (first === undefined)
      return fine(`System.View and System.Read on ${proofs.length} objects, so an absence can be proven`)
    const more = lacking.length === 1 ? '' : `; the same for ${lacking.length - 1} more objects`
    return fail(`${first}${more}`)
  })
}

function judgeDatacenters(seen: Looked<DatacenterFacts>): CheckResult {
  if (!seen.ok && seen.noPermission)
    return warn(
      `datacenters cannot be read, so a wrong name under "datacenters" goes unnoticed: ${seen.message}; give the account Read-only on the root folder, with propagation`,
    )
  return resultOf(seen, ({ wanted, seen }) => {
    const paths = seen.map(({ path }) => `/${path.join('/')}`)
    if (seen.length === 0)
      return fail('the account sees no datacenter; give it Read-only on the root folder, with propagation')
    const lost = wanted.filter((each) => !seen.some((one) => matchesDatacenter(each, one)))
    if (lost.length > 0)
      return fail(
        `${listed(lost)} under "datacenters" match none that the account can see (${listed(paths)}); correct the names, or give the account Read-only there`,
      )
    const [twice] = wanted.filter(
      (each) => !isPath(each) && seen.filter(({ path }) => path.at(-1) === each).length > 1,
    )
    if (twice !== undefined)
      return warn(
        `${twice} under "datacenters" is ambiguous: ${listed(paths.filter((path) => path.endsWith(`/${twice}`)))}; write the path of the one you mean`,
      )
    return fine(
      wanted.length === 0 ? `all that the account sees: ${listed(paths)}` : `found: ${listed(wanted)}`,
    )
  })
}

function judgeCategories(seen: Looked<CategoryFacts>): CheckResult {
  if (!seen.ok && seen.noPermission)
    return fail(
      `the vCenter account may not read tags, so Nodes get no zone and no region: ${seen.message}; give it Read-only as a global permission, or System.Read on the tags and their categories`,
    )
  return resultOf(seen, ({ wanted, found }) => {
    if (wanted.length === 0) return fine('none is configured: Nodes get no zone and no region')
    const missing = wanted.filter((name) => !found.has(name))
    if (missing.length > 0)
      return fail(
        `vCenter shows no tag category ${listed(missing)}; create it, correct "zone" and "region" under "labels", or give the account Read-only as a global permission`,
      )
    const empty = wanted.filter((name) => found.get(name) === 0)
    if (empty.length > 0)
      return warn(
        `no tags in the category ${listed(empty)}; create some, and attach them to clusters or hosts`,
      )
    return fine(listed(wanted.map((name) => `${name} with ${count(found.get(name) ?? 0, 'tag')}`)))
  })
}
