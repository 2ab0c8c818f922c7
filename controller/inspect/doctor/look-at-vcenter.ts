import * as v from 'valibot'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { ParentObject } from '../../../agent/shared/node-report.ts'
import { attempt, failed, ok } from '../../../agent/shared/result.ts'
import { type Config, serverKey, type VCenterConfig } from '../../config/config.ts'
import { matchesDatacenter } from '../../config/datacenter-pattern.ts'
import type { Logger } from '../../lib/log.ts'
import type { Proof } from '../../types/vcenter-probe.ts'
import { readDatacenters } from '../../vcenter/collect/datacenters.ts'
import {
  createPropertyReader,
  filterSpec,
  objectSpec,
  propertySpec,
} from '../../vcenter/collect/retrieve-properties.ts'
import { createCollectors } from '../../vcenter/collect/session-objects.ts'
import { createTagNames } from '../../vcenter/collect/tags.ts'
import type { InventoryMetrics } from '../../vcenter/running-inventory.ts'
import { createTicketRequests } from '../../vcenter/session/clone-ticket.ts'
import { serverOf } from '../../vcenter/session/login-accounts.ts'
import type { LoginLimiter } from '../../vcenter/session/login-limiter.ts'
import { createRESTClient } from '../../vcenter/session/rest.ts'
import { createSession, SERVICE_INSTANCE, type ServiceContent } from '../../vcenter/session/session.ts'
import type { Timings } from '../../vcenter/timings.ts'
import { askPrivileges } from '../../vcenter/vm-probe/privileges.ts'
import { createProbeClient } from '../../vcenter/vm-probe/probe-client.ts'
import { type Connection, openConnection } from '../../vcenter/wire/connection.ts'
import { createSoapClient } from '../../vcenter/wire/soap.ts'
import { childrenOf, textOf } from '../../vcenter/wire/xml.ts'
import type { DatacenterFacts, VCenterFacts } from './facts.ts'
import { type Looked, look } from './look.ts'
import { checkCertificate, openPort, resolveName } from './reach-vcenter.ts'

export interface VCenterOptions {
  readonly logins: LoginLimiter
  /** Why logins are not counted together with the leader's; undefined where they are. */
  readonly alone: () => string | undefined
  readonly labels: Config['labels']
  /** What stands above the VMs of this vCenter (`about.instanceUuid`) that Nodes are bound to. */
  readonly parentsIn: (instanceUUID: string) => Promise<readonly ParentObject[]>
  readonly userAgent: string
  readonly timings: Timings
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

/** Nobody reads them. */
const NO_METRICS: InventoryMetrics = {
  call: () => undefined,
  reconnect: () => undefined,
  unwatched: () => undefined,
  resynced: () => undefined,
}

/** Looks at one vCenter, up to the first step that fails. At most one login by SOAP, and one by REST once that has worked. */
export async function lookAtVCenter(
  config: VCenterConfig,
  options: VCenterOptions,
  signal: AbortSignal,
): Promise<VCenterFacts> {
  const { clock } = options
  const server = serverOf(config)
  const { noCredential } = config
  const about = {
    name: config.name,
    server,
    trust: config.trust.kind,
    noCredential: noCredential?.state === 'pending' ? NOT_READ : noCredential?.message,
  }
  const dns = await look(() => resolveName(config, clock, signal))
  if (!dns.ok) return { ...about, dns }
  const tcp = await look(() => openPort(config, signal))
  if (!tcp.ok) return { ...about, dns, tcp }
  const tls = await look(() => checkCertificate(config, server, signal))
  if (!tls.ok || noCredential !== undefined) return { ...about, dns, tcp, tls }
  const connection = openConnection({ ...config, userAgent: options.userAgent, clock })
  try {
    return { ...about, dns, tcp, tls, ...(await lookInside(config, connection, options, signal)) }
  } finally {
    await connection.close()
  }
}

const NOT_READ =
  'user and password are not known, because their Secret or folder was not read in time; see the line "API server"'

type Inside = Pick<
  VCenterFacts,
  'identity' | 'login' | 'sessions' | 'privileges' | 'datacenters' | 'categories' | 'skew'
>

async function lookInside(
  config: VCenterConfig,
  connection: Connection,
  options: VCenterOptions,
  signal: AbortSignal,
): Promise<Inside> {
  const { logins, timings, clock, random, logger, labels } = options
  const soap = createSoapClient({ connection, clock, random, metrics: NO_METRICS })
  const forLogin = { config, timings, logger, logins, loginSignal: signal }
  const requestTicket = createTicketRequests({
    trust: config.trust,
    userAgent: options.userAgent,
    deadline: timings.callDeadline,
    clock,
    openConnection,
  })
  const session = createSession({ ...forLogin, soap, requestTicket })
  const rest = createRESTClient({
    ...forLogin,
    connection,
    clock,
    metrics: NO_METRICS,
    soapSession: soap.sessionID,
  })

  async function readEach(content: ServiceContent): Promise<Inside> {
    const collectors = createCollectors({ soap, propertyCollector: content.propertyCollector, timings })
    const reader = createPropertyReader({ soap, collectors, alive: session.keepAlive, timings, clock })
    const login = session.lastLogin()
    const access = { soap, content, login }
    const inSession = { vCenter: config.name, access, timings, clock, period: signal, signal }
    const client = createProbeClient({ ...inSession, lost: () => undefined })

    const datacenters = await look(async () => ({
      wanted: config.datacenters,
      seen: await readDatacenters(reader, content.rootFolder, signal),
    }))
    const [sessions, privileges, categories, skew] = await Promise.all([
      look(() => countSessions(content, login?.key)),
      look(async (): Promise<readonly Proof[]> => {
        const parents = [...inScope(datacenters), ...(await options.parentsIn(content.instanceUUID))]
        return [...(await askPrivileges(client, config.name, parents)).proofs.values()]
      }),
      look(() => readCategories()),
      look(readSkew),
    ])
    await collectors.destroy(signal).catch(() => undefined)
    return { sessions, privileges, datacenters, categories, skew }

    async function countSessions({ sessionManager }: ServiceContent, key: string | undefined) {
      const lists: { all: number; own: number }[] = []
      await reader.read(
        [filterSpec(propertySpec('SessionManager', ['sessionList']), objectSpec(sessionManager))],
        ({ properties, missing }) => {
          const refused = missing.get('sessionList')
          if (refused !== undefined) throw refused
          const list = childrenOf(properties.get('sessionList'), 'UserSession')
          const user = list.find((each) => textOf(each, 'key') === key)
          const name = user && textOf(user, 'userName')
          lists.push({
            all: list.length,
            own: list.filter((each) => textOf(each, 'userName') === name).length,
          })
        },
        signal,
      )
      return lists[0] ?? { all: 0, own: 0 }
    }
  }

  async function readCategories() {
    const wanted = [labels.zone ?? [], labels.region ?? []].flat()
    if (wanted.length === 0) return { wanted, found: new Map<string, number>() }
    const names = createTagNames({ rest, categories: new Set(wanted), timings, clock })
    return { wanted, found: await names.categories(signal) }
  }

  async function readSkew(): Promise<number> {
    const sent = clock.now()
    const answer = await soap.call({
      operation: 'CurrentTime',
      target: SERVICE_INSTANCE,
      deadline: timings.callDeadline,
      signal,
    })
    const time = v.parse(v.pipe(v.string(), v.isoTimestamp()), textOf(answer, 'returnval'))
    return Date.parse(time) - (sent + clock.now()) / 2
  }

  const opened = await attempt(() => session.ensure(signal))
  if (!opened.ok) {
    const { error } = opened
    return { login: failed(error instanceof Error ? error.message : String(error)) }
  }
  try {
    const { instanceUUID } = opened.value
    return {
      identity: { instanceUUID, server: serverKey(config) },
      login: ok({ alone: options.alone() }),
      ...(await readEach(opened.value)),
    }
  } finally {
    const last = signal.aborted ? AbortSignal.abort() : signal
    await Promise.allSettled([session.logout(last), rest.logout(last)])
  }
}

/** The datacenters that the configuration means, as objects to ask for privileges on. */
function inScope(datacenters: Looked<DatacenterFacts>): readonly ParentObject[] {
  if (!datacenters.ok) return []
  const { wanted, seen } = datacenters.value
  return seen
    .filter((each) => wanted.length === 0 || wanted.some((pattern) => matchesDatacenter(pattern, each)))
    .map(({ moref, path }) => ({ type: 'Datacenter', moref, name: path.at(-1) ?? moref }))
}
