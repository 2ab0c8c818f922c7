import { Agent } from 'undici'

export interface VcsimVM {
  /** Value of the managed object reference, as "vm-102". */
  ref: string
  name: string
  uuid: string
  instanceUuid: string
  vnics: { key: number; mac: string; network: string }[]
  host: string
  cluster: string
  datacenter: string
  powerState: string
}

/** What VMware Tools reports. `vm` is a reference's value or a name, here and below. */
export interface GuestData {
  vm: string
  hostName: string
  /** The first address of the NICs, unless given. */
  ipAddress?: string
  nics: GuestNic[]
}

export interface GuestNic {
  /** That of the machine's vNIC in the same place, unless given. */
  mac?: string
  network?: string
  /** The key of the vNIC with this MAC, unless given; -1 is none. */
  deviceConfigId?: number
  /** With prefix length, as "10.0.0.5/24". */
  addresses: string[]
}

/** What changes about a machine from outside; the rest stays. An inaccessible machine has an empty UUID too. */
export interface VMState {
  vm: string
  connectionState?: 'connected' | 'disconnected' | 'inaccessible' | 'invalid' | 'orphaned'
  powerState?: 'poweredOn' | 'poweredOff' | 'suspended'
  uuid?: string
  instanceUuid?: string
  cpus?: number
  memoryMB?: number
  guestId?: string
  faultToleranceState?: 'notConfigured' | 'disabled' | 'enabled' | 'needSecondary' | 'starting' | 'running'
  /** Whether vSphere HA protects it. */
  dasProtected?: boolean
  /** Of its first vNIC, as after that was replaced. */
  mac?: string
  /** All values of its custom attributes, by the keys of their definitions. */
  customValues?: Readonly<Record<number, string>>
}

export interface TagAttachment {
  category: string
  tag: string
  /** Reference's value or name of any inventory object, as "DC0_C0". */
  object: string
  detach?: boolean
}

export interface VcsimFault {
  /** A SOAP operation, "REST <METHOD> <path>", or "*" for every call. */
  operation: string
  /** A reference's value that must occur in the request, or an identifier in its path; for `spoiled` in the answer. */
  object?: string
  /**
   * - status: this HTTP `status`
   * - fault: the vim25 `fault`, as "NoPermission"
   * - empty: a result without values
   * - hang: nothing until the client gives up or the fault is cleared
   * - delay: the right answer, `milliseconds` later or when the fault is cleared
   * - late: the same, but what was asked is done at once, also where the client gives up
   * - lost: what was asked is done, and answered with `status`, or a closed connection
   * - cut: the right answer within `milliseconds`, then `status`, or a closed connection; what was asked goes on
   * - spoiled: the vim25 `fault` in place of an answer that shows `object`, or nothing where no fault is given
   * - reset: a TCP reset
   * - truncate: half a document in a whole HTTP response
   * - abort: a connection that closes half-way
   * - html: a page with status 200
   * - doctype: the right answer with a document type in front
   * - huge: 50 MB of well-formed XML, or `bytes`
   */
  kind:
    | 'status'
    | 'fault'
    | 'empty'
    | 'hang'
    | 'delay'
    | 'late'
    | 'lost'
    | 'cut'
    | 'spoiled'
    | 'reset'
    | 'truncate'
    | 'abort'
    | 'html'
    | 'doctype'
    | 'huge'
  status?: number
  fault?: string
  /** The message of a fault. */
  text?: string
  milliseconds?: number
  bytes?: number
  /** Lets so many matching calls pass first. */
  after?: number
  /** How many calls it spoils; until cleared, unless given. */
  times?: number
}

export interface ControlClient {
  call<T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T>
  close(): Promise<void>
}

/** Speaks to the simulator's control port; what the port refuses is thrown in its own words. */
export function createControlClient(url: string): ControlClient {
  // A connection for each call: one that is kept may be closed just when the next call is sent on it.
  const agent = new Agent({ pipelining: 0 })
  return {
    async call<T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) {
      const response = await agent.request({
        origin: url,
        path,
        method,
        body: body === undefined ? null : JSON.stringify(body),
      })
      const answer = await response.body.json()
      if (response.statusCode !== 200) throw new Error(`simulator: ${(answer as { error: string }).error}`)
      return answer as T
    },
    close: () => agent.destroy(),
  }
}
