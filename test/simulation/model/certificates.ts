/** Serving certificates: the kubelets that ask for them, the signer, and what truly stands in each request. */
import { createHash } from 'node:crypto'
import {
  commonName,
  dns,
  ip,
  makeRequest,
  organization,
} from '../../../controller/loops/certificates/testing/make-request.ts'
import type { Random } from '../random.ts'
import type { Timeline } from '../timeline.ts'
import type { ApiServer } from './api-server.ts'
import { canSpeak, type Machine } from './machine.ts'
import { wallTime } from './process.ts'

/** What somebody asks for, and as whom. */
export interface Ask {
  /** Who asks, by the API server's own word. */
  readonly username: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
  readonly usages: readonly string[]
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly dnsNames: readonly string[]
  readonly addresses: readonly string[]
}

/** What is known of a request in truth. */
export interface RequestTruth extends Ask {
  /** By whose kubelet; undefined for whoever has another credential. */
  readonly machine: Machine | undefined
  readonly at: number
}

export type ServedNames = Pick<Ask, 'dnsNames' | 'addresses'>

export interface Certificates {
  /** Of all requests that there ever were, by name. */
  readonly asked: ReadonlyMap<string, RequestTruth>
  /** What the kubelet of a machine asks for at this moment; undefined where it does not know an address yet. */
  namesOf(machine: Machine): ServedNames | undefined
  /** Whether the kubelet of a machine has a certificate for all of its names. */
  serves(machine: Machine): boolean
  /** A request with the credential of a kubelet, right where nothing else is given; returns its name. */
  ask(machine: Machine, differs?: Partial<Ask>): string
  /** The same of somebody who has another credential. */
  askAsStranger(ask: Partial<Ask>): string
  /** One look of all kubelets, of the signer, and of whoever clears away old requests. */
  tick(): void
}

export interface CertificatesOptions {
  readonly api: ApiServer
  readonly machines: readonly Machine[]
  readonly timeline: Timeline
  readonly random: Random
  /** Whether kubelets ask at all. */
  readonly bootstrap: boolean
}

/** What a kubelet has and waits for. */
interface Serving {
  /** Whether it was told its address (`--node-ip`), and asks before its Node has one. */
  readonly toldAddress: boolean
  names: ServedNames | undefined
  /** When it asks for the next certificate, though its names are the same. */
  renews: number
  waits: { readonly request: string; readonly names: ServedNames; readonly until: number } | undefined
  /** It asks no sooner. */
  again: number
}

/** As in Kubernetes, but for the times, which are shorter: milliseconds. */
const WAITS = 300_000
const PAUSE = 60_000
const RENEWS = { least: 900_000, most: 2_400_000 }
const CLEARED = { decided: 600_000, pending: 3_600_000 }

const GROUPS = ['system:nodes', 'system:authenticated']
const USAGES = ['digital signature', 'server auth']
const SIGNER = 'kubernetes.io/kubelet-serving'

export function createCertificates(options: CertificatesOptions): Certificates {
  const { api, machines, timeline, random, bootstrap } = options
  const asked = new Map<string, RequestTruth>()
  const servings = new WeakMap<Machine, Serving>()

  function servingOf(machine: Machine): Serving {
    const known = servings.get(machine) ?? {
      toldAddress: machine.random.derive('told address').chance(0.3),
      names: undefined,
      renews: 0,
      waits: undefined,
      again: 0,
    }
    servings.set(machine, known)
    return known
  }

  function namesOf(machine: Machine): ServedNames | undefined {
    const { nodeName, nodeUID, address } = machine
    const node = api.nodes.get(nodeName)
    if (node === undefined || node.metadata.uid !== nodeUID) return undefined
    const addresses = node.status.addresses.flatMap((each) =>
      ['InternalIP', 'ExternalIP'].includes(each.type) ? each.address : [],
    )
    const own = servingOf(machine).toldAddress && address !== undefined ? [address] : []
    const named = addresses.length > 0 ? [...new Set(addresses)] : own
    return named.length === 0 ? undefined : { dnsNames: [nodeName], addresses: named }
  }

  function create(machine: Machine | undefined, ask: Ask): string {
    const name = `csr-${asked.size + 1}`
    const { username, groups, extra, usages } = ask
    asked.set(name, { ...ask, machine, at: timeline.now })
    timeline.note(`${username} asks by ${name} for ${[...ask.dnsNames, ...ask.addresses].join(' ')}`)
    api.putRequest(name, {
      metadata: {
        name,
        uid: name,
        resourceVersion: '',
        creationTimestamp: wallTime(timeline.now),
        annotations: {},
      },
      spec: { signerName: SIGNER, request: contentOf(ask), username, groups, extra, usages },
      status: { conditions: [] },
    })
    return name
  }

  function ask(machine: Machine, differs: Partial<Ask> = {}): string {
    const username = `system:node:${machine.nodeName}`
    const names = namesOf(machine) ?? {
      dnsNames: [machine.nodeName],
      addresses: [machine.address ?? []].flat(),
    }
    // A credential of its own, as the API server tells of it.
    const credential = createHash('sha256').update(`${username} ${machine.biosUUID}`).digest('hex')
    return create(machine, {
      username,
      groups: GROUPS,
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${credential}`] },
      usages: USAGES,
      commonName: username,
      organizations: ['system:nodes'],
      ...names,
      ...differs,
    })
  }

  /** Takes what was signed, gives up what is not, and asks anew where there is a reason. */
  function keep(machine: Machine): void {
    const names = namesOf(machine)
    if (names === undefined) return
    const serving = servingOf(machine)
    const { waits } = serving
    if (waits !== undefined) {
      const { conditions = [], certificate } = api.requests.get(waits.request)?.status ?? {}
      const isOver =
        !api.requests.has(waits.request) ||
        timeline.now > waits.until ||
        conditions.some(({ type }) => type === 'Denied')
      if (certificate !== undefined) {
        serving.names = waits.names
        serving.renews = timeline.now + random.between(RENEWS.least, RENEWS.most)
        serving.waits = undefined
      } else if (isOver) {
        serving.waits = undefined
        serving.again = timeline.now + PAUSE
      } else if (isSame(waits.names, names)) return
    }
    const isServed = serving.names !== undefined && isSame(serving.names, names)
    if ((isServed && timeline.now < serving.renews) || timeline.now < serving.again) return
    serving.waits = { request: ask(machine), names, until: timeline.now + WAITS }
  }

  function sign(): void {
    for (const [name, request] of api.requests) {
      const { conditions, certificate } = request.status
      const decided = conditions.length > 0
      const age = timeline.now - (asked.get(name)?.at ?? 0)
      if (age > (decided ? CLEARED.decided : CLEARED.pending)) api.putRequest(name, undefined)
      else if (certificate === undefined && conditions.some(({ type }) => type === 'Approved'))
        api.putRequest(name, { ...request, status: { conditions, certificate: 'c2lnbmVk' } })
    }
  }

  return {
    asked,
    namesOf,
    serves(machine) {
      const [names, { names: has }] = [namesOf(machine), servingOf(machine)]
      return names !== undefined && has !== undefined && isSame(names, has)
    },
    ask,
    askAsStranger: (ask) =>
      create(undefined, {
        username: 'system:serviceaccount:default:tenant',
        groups: ['system:serviceaccounts', 'system:authenticated'],
        extra: {},
        usages: USAGES,
        commonName: ask.username ?? '',
        organizations: ['system:nodes'],
        dnsNames: [],
        addresses: [],
        ...ask,
      }),
    tick() {
      if (api.away) return
      sign()
      if (!bootstrap) return
      for (const machine of machines) if (machine.kubelet && canSpeak(machine)) keep(machine)
    },
  }
}

function isSame(one: ServedNames, other: ServedNames): boolean {
  return [...one.dnsNames, ...one.addresses].join(' ') === [...other.dnsNames, ...other.addresses].join(' ')
}

/** Made once each: a signature costs more than all else in a step. */
const made = new Map<string, string>()
const MOST_MADE = 10_000

function contentOf(ask: Ask): string {
  const { commonName: cn, organizations: os, dnsNames, addresses } = ask
  const key = JSON.stringify([cn, os, dnsNames, addresses])
  const known = made.get(key)
  if (known !== undefined) return known
  if (made.size >= MOST_MADE) made.clear()
  const content = makeRequest({
    subject: [...os.map((o) => organization(o)), commonName(cn)],
    names: [...dnsNames.map(dns), ...addresses.map(ip)],
  })
  made.set(key, content)
  return content
}
