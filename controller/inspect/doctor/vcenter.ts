import * as v from 'valibot'
import { fail, fine, judgeClock, type Line, skip, warn } from '../../../agent/shared/diagnosis.ts'
import type { ParentObject } from '../../../agent/shared/node-report.ts'
import { attempt, messageOf } from '../../../agent/shared/result.ts'
import { type Config, type LabelRule, serverKey, type VCenterConfig } from '../../config/config.ts'
import { isNameOf, isPath, matchesDatacenter, pathOf } from '../../config/datacenter-pattern.ts'
import { count, listed } from '../../lib/format.ts'
import type { Basics } from '../../lib/tasks.ts'
import { readAttributeNames } from '../../vcenter/cache/vm-attributes.ts'
import { readDatacenters } from '../../vcenter/collect/datacenters.ts'
import { createTagCalls } from '../../vcenter/collect/tag-calls.ts'
import { createTagCategories } from '../../vcenter/collect/tag-categories.ts'
import type { InventoryMetrics } from '../../vcenter/running-inventory.ts'
import { readSessions } from '../../vcenter/session/left-behind-sessions.ts'
import { serverOf } from '../../vcenter/session/login-accounts.ts'
import type { LoginLimiter } from '../../vcenter/session/login-limiter.ts'
import { visitVCenter } from '../../vcenter/session/open-clients.ts'
import { SERVICE_INSTANCE } from '../../vcenter/session/session.ts'
import type { Timings } from '../../vcenter/timings.ts'
import { askPrivileges } from '../../vcenter/vm-probe/privileges.ts'
import { createProbeClient } from '../../vcenter/vm-probe/probe-client.ts'
import type { openConnection } from '../../vcenter/wire/connection.ts'
import { createNames } from '../../vcenter/wire/names.ts'
import { textOf } from '../../vcenter/wire/xml.ts'
import { checkOf, type FactsOf, judgeAll, lookAll, once } from './check.ts'
import { REACH, type VCenterGiven } from './reach-vcenter.ts'

/** vCenter allows 3,000 in all (8.0 U3), and 500 to 550 for each user at its REST interface. */
const MOST_SESSIONS = 2_400
const MOST_OWN_SESSIONS = 400

interface VCenterOptions extends Basics {
  readonly config: VCenterConfig
  readonly logins: LoginLimiter
  /** Why logins are not counted together with the leader's; undefined where they are. */
  readonly alone: () => string | undefined
  /** Whether our rights are the controller's. */
  readonly isController: () => Promise<boolean>
  readonly labels: Config['labels']
  readonly labelRules?: Config['labelRules']
  /** What stands above the VMs of this vCenter (`about.instanceUuid`) that Nodes are bound to. */
  readonly parentsIn: (instanceUUID: string) => Promise<readonly ParentObject[]>
  readonly userAgent: string
  readonly timings: Timings
  /** By default over HTTPS. */
  readonly openConnection?: typeof openConnection
}

/** Nobody reads them. */
export const NO_METRICS: InventoryMetrics = {
  call: () => undefined,
  reconnect: () => undefined,
  unwatched: () => undefined,
  resynced: () => undefined,
}

/** What is said in one session with a vCenter. It logs in when it is first needed, once by SOAP, and once by REST. */
function visit(options: VCenterOptions, signal: AbortSignal) {
  const { config, labels, labelRules = [] } = options
  const named = (kind: LabelRule['from']['kind']) =>
    labelRules.flatMap(({ from }) => ('name' in from && from.kind === kind ? from.name : []))
  const enter = once(() => visitVCenter({ ...options, metrics: NO_METRICS }, signal))
  const datacenters = once(async () => {
    const { reader, content } = await enter()
    return { wanted: config.datacenters, seen: await readDatacenters(reader, content.rootFolder, signal) }
  })
  return {
    ...options,
    server: serverOf(config),
    names: createNames({ clock: options.clock, signal }),
    wanted: [...new Set([labels.zone ?? [], labels.region ?? [], named('tagCategory')].flat())],
    attributes: [...new Set(named('attribute'))],
    enter,
    datacenters,
  }
}

const check = checkOf<ReturnType<typeof visit>, VCenterGiven>()

const VCENTER = {
  ...REACH,
  login: check({
    name: 'login',
    after: 'credential',
    async look({ enter, alone, config }) {
      const { content, lost } = await enter()
      // Its own name for itself, and the server.
      const identity = { instanceUUID: content.instanceUUID, server: serverKey(config) }
      const seen: { readonly lost?: string } = lost === undefined ? {} : { lost: messageOf(lost) }
      return { alone: alone(), identity, ...seen }
    },
    judge({ alone, lost }) {
      const counted = alone === undefined ? '' : `; not counted with the leader's attempts, because ${alone}`
      return lost === undefined
        ? fine(`user and password are accepted${counted}`)
        : warn(`only the second login was answered; the first: ${lost}${counted}`)
    },
  }),
  sessions: check({
    name: 'sessions',
    after: 'login',
    async look({ enter }, signal) {
      const { reader, login, content } = await enter()
      const list = await readSessions(reader, content.sessionManager, signal)
      const user = list.find((each) => textOf(each, 'key') === login?.key)
      const name = user && textOf(user, 'userName')
      return { all: list.length, own: list.filter((each) => textOf(each, 'userName') === name).length }
    },
    forbidden: () =>
      skip(
        'the vCenter account is not allowed to list sessions, and does not need to; look at Monitor > Sessions in the vSphere Client if logins fail',
      ),
    judge({ all, own }) {
      const counts = `${all} are open, ${own} of this account`
      if (own > MOST_OWN_SESSIONS || all > MOST_SESSIONS)
        return warn(
          `${counts}; vCenter refuses logins at about 3,000, or 500 per account at its REST interface: find out what leaves sessions open, and give Rollcall an account of its own`,
        )
      return fine(counts)
    },
  }),
  privileges: check({
    name: 'privileges',
    after: 'login',
    async look({ enter, datacenters, parentsIn, config, timings, clock }, signal) {
      const { soap, content, login } = await enter()
      const access = { soap, content, login }
      const inSession = { vCenter: config.name, access, timings, clock, period: signal, signal }
      const client = createProbeClient({ ...inSession, lost: () => undefined })
      const known = await attempt(datacenters)
      const parents = [...(known.ok ? inScope(known.value) : []), ...(await parentsIn(content.instanceUUID))]
      return [...(await askPrivileges(client, config.name, parents)).proofs.values()]
    },
    judge(proofs) {
      const lacking = proofs.flatMap((proof) => (proof.state === 'unproven' ? [proof.failure.message] : []))
      const [first] = lacking
      if (first === undefined)
        return fine(`System.View and System.Read on ${proofs.length} objects, so an absence can be proven`)
      const more = lacking.length === 1 ? '' : `; the same for ${lacking.length - 1} more objects`
      return fail(`${first}${more}`)
    },
  }),
  datacenters: check({
    name: 'datacenters',
    after: 'login',
    look: ({ datacenters }) => datacenters(),
    forbidden: (message) =>
      warn(
        `datacenters cannot be read, so a wrong name under "datacenters" goes unnoticed: ${message}; give the account Read-only on the root folder, with propagation`,
      ),
    judge({ wanted, seen }) {
      const paths = seen.map(pathOf)
      if (seen.length === 0)
        return fail('the account sees no datacenter; give it Read-only on the root folder, with propagation')
      const lost = wanted.filter((each) => !seen.some((one) => matchesDatacenter(each, one)))
      if (lost.length > 0)
        return fail(
          `${listed(lost)} under "datacenters" match none that the account can see (${listed(paths)}); correct the names, or give the account Read-only there`,
        )
      const named = (each: string) => seen.filter(({ path }) => isNameOf(each, path.at(-1) ?? ''))
      const [twice] = wanted.filter((each) => !isPath(each) && named(each).length > 1)
      if (twice !== undefined)
        return warn(
          `${twice} under "datacenters" is ambiguous: ${listed(named(twice).map(pathOf))}; write the path of the one you mean`,
        )
      return fine(
        wanted.length === 0 ? `all that the account sees: ${listed(paths)}` : `found: ${listed(wanted)}`,
      )
    },
  }),
  categories: check({
    name: 'tag categories',
    after: 'login',
    /** Those that there are, with the number of their tags. */
    async look({ enter, wanted }, signal) {
      if (wanted.length === 0) return { wanted, found: new Map<string, number>() }
      const { rest } = await enter()
      // Nothing was told before.
      const calls = createTagCalls({ rest, stillTells: async () => false })
      const categories = createTagCategories({ calls, categories: new Set(wanted) })
      const found = await categories.counts(signal)
      return { wanted, found, lacking: categories.lacking() }
    },
    forbidden: (message) =>
      fail(
        `the vCenter account is not allowed to read tags, so Nodes may get no zone and no region: ${message}; give it Read-only as a global permission, or System.Read on the tags and their categories`,
      ),
    judge({ wanted, found, lacking }) {
      if (wanted.length === 0) return fine('none is configured: Nodes get no zone and no region')
      if (wanted.some((name) => lacking?.get(name) === 'categories'))
        return fail(
          `vCenter shows the account no tag category at all; give it Read-only as a global permission, or create ${listed(wanted)}`,
        )
      const missing = wanted.filter((name) => !found.has(name))
      if (missing.length > 0)
        return fail(
          `vCenter shows no tag category ${listed(missing)}; create it, correct "zone" and "region" under "labels" or the label rule, or give the account Read-only as a global permission`,
        )
      const empty = wanted.filter((name) => found.get(name) === 0)
      if (empty.length > 0)
        return warn(
          `no tags in the category ${listed(empty)}; create some, and attach them to clusters or hosts`,
        )
      return fine(listed(wanted.map((name) => `${name} with ${count(found.get(name) ?? 0, 'tag')}`)))
    },
  }),
  attributes: check({
    name: 'custom attributes',
    after: 'login',
    async look({ enter, attributes: wanted }, signal) {
      const { reader, content } = await enter()
      return { wanted, found: await readAttributeNames(reader, content.customFieldsManager, signal) }
    },
    judge({ wanted, found }) {
      if (!found.ok) return fail(found.message)
      const names = new Set(found.value.values())
      const missing = wanted.filter((name) => !names.has(name))
      return missing.length === 0
        ? fine(`found: ${listed(wanted)}`)
        : fail(
            `vCenter shows no custom attribute ${listed(missing)} for VMs; create it under "Tags & Custom Attributes", or correct the label rule`,
          )
    },
  }),
  skew: check({
    name: 'clock',
    after: 'login',
    async look({ enter, timings, clock }, signal) {
      const { soap } = await enter()
      const sent = clock.now()
      const answer = await soap.call({
        operation: 'CurrentTime',
        target: SERVICE_INSTANCE,
        deadline: timings.callDeadline,
        signal,
      })
      const time = v.parse(v.pipe(v.string(), v.isoTimestamp()), textOf(answer, 'returnval'))
      return Date.parse(time) - (sent + clock.now()) / 2
    },
    judge: (skew) => judgeClock('vCenter', skew),
  }),
}

/** Most configurations have no rule that needs one. */
const { attributes: _, ...WITHOUT_ATTRIBUTES } = VCENTER

export interface VCenterFacts extends Omit<VCenterGiven, 'now'>, FactsOf<typeof VCENTER> {
  readonly name: string
}

/** Looks at one vCenter, up to the first step that fails. */
export async function lookAtVCenter(options: VCenterOptions, signal: AbortSignal): Promise<VCenterFacts> {
  const { name, trust } = options.config
  const around = visit(options, signal)
  const facts = await lookAll(around.attributes.length > 0 ? VCENTER : WITHOUT_ATTRIBUTES, around, signal)
  if (facts.login?.ok) await (await around.enter()).leave()
  return { name, server: around.server, trust: trust.kind, ...facts }
}

/** The lines for one vCenter, in the order in which each depends on those before it. */
export function judgeVCenter({ name, server, trust, ...facts }: VCenterFacts, now: number): readonly Line[] {
  const checks = facts.attributes === undefined ? WITHOUT_ATTRIBUTES : VCENTER
  return judgeAll(checks, facts, { server, trust, now }, { prefix: `vCenter ${name}: ` })
}

/** A line for each identity that several servers give. */
export function judgeTwins(vCenters: readonly VCenterFacts[]): readonly Line[] {
  const known = vCenters.flatMap(({ name, server, login }) =>
    login?.ok && login.value.identity.instanceUUID !== ''
      ? [{ name, at: server, ...login.value.identity }]
      : [],
  )
  return [...Map.groupBy(known, ({ instanceUUID }) => instanceUUID)]
    .filter(([, group]) => new Set(group.map(({ server }) => server)).size > 1)
    .map(([instanceUUID, group]) => {
      const names = listed(group.map(({ name, at }) => `${name} (${at})`))
      return {
        check: `vCenters ${listed(group.map(({ name }) => name))}: identity`,
        ...warn(
          `${names} report the same instance UUID (${instanceUUID}), so VM data that only one of them reports is ignored; remove the clone from the configuration, or use one server name for all if they are the same vCenter`,
        ),
      }
    })
}

/** The datacenters that the configuration means, as objects to ask for privileges on. */
function inScope({
  wanted,
  seen,
}: Awaited<ReturnType<ReturnType<typeof visit>['datacenters']>>): readonly ParentObject[] {
  return seen
    .filter((each) => wanted.length === 0 || wanted.some((pattern) => matchesDatacenter(pattern, each)))
    .map(({ moref, path }) => ({ type: 'Datacenter', moref, name: path.at(-1) ?? moref }))
}
