import type { LoginInterface } from '../../../controller/vcenter/session/login-accounts.ts'
import { SoapFault, VCenterError } from '../../../controller/vcenter/wire/errors.ts'
import type { Random } from '../random.ts'
import type { Timeline } from '../timeline.ts'
import { DEFAULT_POOL, sourceKeys } from './label-sources.ts'
import type { Folder, Machine, VM } from './machine.ts'
import { type Client, createSessionModel, type SessionModel } from './session.ts'
import { createTagging, noteCounted, placesAt, type Tagging } from './tagging.ts'

/** A vCenter: what it lists, who may see what, and how it fails. */
export interface VCenterModel {
  readonly name: string
  instanceUUID: string
  /** The one whose appliance it is a copy of; undefined for all others. */
  readonly cloneOf: VCenterModel | undefined
  /** When it was taken out of the configuration, for good. */
  retiredAt: number | undefined
  readonly folders: readonly Folder[]
  readonly vms: Map<string, VM>
  /** All that it has ever listed, by reference. */
  readonly known: ReadonlyMap<string, VM>
  /** When VMs were taken off the list, by reference. */
  readonly unlistedAt: Map<string, number>
  readonly sessions: Map<string, SessionModel>
  /** Keys of the sessions of its REST interface. */
  readonly restSessions: Set<string>
  /** What takes its calls: nobody, one that never answers, or it. */
  reach: 'down' | 'hangs' | 'works'
  /** Longest time of a call, milliseconds, beyond the usual. */
  slow: number
  /** Longest time of a login beyond that, milliseconds; each takes at least half of it. */
  slowLogin: number
  /** The same for the calls that are made once for each session. */
  slowSetUp: number
  /** By which interface a proxy gives up logins that vCenter has taken. */
  losesLogins: LoginInterface | undefined
  /** When one by REST was given up last. */
  lostRESTLoginAt: number
  /** A proxy ends polls that are silent for so long, milliseconds; 0 for none. */
  silence: number
  /** Milliseconds after which a name server answers where it is; Infinity where none does. */
  resolving: number
  /** When connections to it broke last. */
  brokeAt: number
  /** Share of calls that fail with a server error. */
  errors: number
  passwordWrong: boolean
  /** Whether reading many VMs fails as a whole where one of them may not be read. */
  refusesCalls: boolean
  /** Objects in one page of an answer. */
  readonly page: number
  /** Whether the account may see and end sessions. */
  readonly mayEndSessions: boolean
  /** Searches by UUID find nothing. */
  searchBroken: boolean
  /** The account may see the folders, and nothing in them. */
  withoutPropagation: boolean
  /** References of folders that the account may not read. */
  readonly denied: Set<string>
  /** VMs, by reference, of which the account may read everything but what is essential. */
  readonly reticent: Set<string>
  /**
   * What fails of VMs, by reference: `read` fails the whole call, `search` the search for its UUID, and for `session` a read
   * says of that VM alone that there is no session. To a read of a `silent` one there is no answer; `poll` fails each poll that
   * would tell of it.
   */
  readonly faults: Map<string, 'read' | 'search' | 'session' | 'silent' | 'poll'>
  /** Hosts by reference, and tags and categories by ID, of which no tags or no name is told: the HTTP status that tells it. */
  readonly tagsDenied: Map<string, 403 | 503>
  /** Whether the account has lost its rights on tags. */
  tagsHidden: boolean
  readonly tagging: Tagging
  /** Tags that people have detached: the object's reference, a space, and the tag's ID. */
  readonly untagged: Set<string>
  /**
   * What of custom attributes the account may not read, their names or their values; or that somebody has removed them all.
   */
  attributesHidden: 'names' | 'values' | 'all' | undefined
  /** Share of updates that are not pushed. */
  pushLost: number
  /** When the last of these was lost, for each VM's reference. */
  readonly lostAt: Map<string, number>
  /** Another vCenter that answers at the address. */
  impostor: VCenterModel | undefined
  /** Processes that have logged in there last, and so take this one for that. */
  readonly mistakenBy: Set<string>
  /** After a restart: VMs that are loaded so far; undefined for all. */
  loaded: Set<string> | undefined
  /** Longest time in which it loads its inventory. */
  readonly loading: number
  /** Puts a VM on the list, under a new reference unless one is given. */
  register(vm: NewVM, moref?: string): VM
  /** Lists a VM a second time, as storage or hosts that come back may leave it behind: with all of its UUIDs. */
  registerTwice(vm: NewVM): VM
  unregister(vm: VM): void
  /** To be told after a VM was changed in place. */
  changed(vm: VM): void
  /** Lets a person change tags. Nobody is told: vCenter pushes none of it. */
  retag(change: (tagging: Tagging) => void): void
  login(client: Client): SessionModel
  /** The key of a session, undefined where the credential is refused. */
  loginREST(client: Client): string | undefined
  endSessions(): void
  /** Open waits for updates break, as the sessions may not. */
  breakWaits(): void
  /** Tells all sessions of all VMs, which they see or see no more. */
  changedAll(): void
  /**
   * Ends all sessions, is down for a while, and comes back with an inventory that is still loading, one VM last of all.
   * Returns when all will be loaded, in milliseconds.
   */
  restart(down: number, last?: string): number
  session(key: string | undefined): SessionModel
  isVisible(vm: VM): boolean
  /** By reference, as far as the account may see it; throws ManagedObjectNotFound or NoPermission. */
  read(moref: string): VM
  search(uuid: string, kind: 'bios' | 'instance'): readonly VM[]
}

type Given = 'tenant' | 'pool' | 'attributes'
export type NewVM = Omit<
  VM,
  'moref' | 'vCenter' | 'vCenterInstanceUUID' | 'registeredAt' | 'leftAt' | Given
> &
  Partial<Pick<VM, Given>>

export interface VCenterModelOptions {
  readonly name: string
  readonly instanceUUID: string
  readonly cloneOf?: VCenterModel
  readonly folders: readonly Folder[]
  readonly loading: number
  readonly timeline: Timeline
  readonly random: Random
  /** Told of each login that it judges, and of who sent it. */
  readonly onLogin: (owner: string, accepted: boolean) => void
  /** Of references and session keys, unique in the whole model. */
  readonly number: () => number
}

export function createVCenterModel(options: VCenterModelOptions): VCenterModel {
  const { timeline, random, number } = options
  const vms = new Map<string, VM>()
  const known = new Map<string, VM>()
  const sessions = new Map<string, SessionModel>()
  let boot = 0

  /** Whether everybody was told. */
  function tell(moref: string): boolean {
    let all = true
    // What a session has missed comes with the next update of the same VM.
    self.lostAt.delete(moref)
    const isLost = () => {
      const lost = random.chance(self.pushLost)
      if (lost) self.lostAt.set(moref, timeline.now)
      return lost
    }
    for (const session of sessions.values()) if (!session.changed(moref, isLost)) all = false
    return all
  }

  /** How open waits end when vCenter goes away; undefined where nobody is told. */
  function breaking(otherwise: () => string): (() => string) | undefined {
    if (self.reach === 'hangs') return undefined
    return self.reach === 'works' ? otherwise : reset
  }

  function reset(): never {
    throw away(self)
  }

  function endSessions(): void {
    const ended = [...sessions.values()]
    sessions.clear()
    self.restSessions.clear()
    for (const session of ended) {
      session.over = true
      session.breakWaits(
        breaking(() => {
          throw new SoapFault('NotAuthenticated', '')
        }),
      )
    }
  }

  function load(mine: number, total: number, last: string | undefined): void {
    const loaded = new Set<string>()
    self.loaded = loaded
    for (const moref of vms.keys()) {
      timeline.after(
        // At first it lists nothing at all.
        moref === last ? total : random.between(0.5, 1) * total,
        `vCenter ${self.name} has loaded ${moref}`,
        () => {
          if (boot !== mine) return
          loaded.add(moref)
          tell(moref)
        },
      )
    }
    timeline.after(total, `vCenter ${self.name} has loaded all`, () => {
      if (boot === mine) self.loaded = undefined
    })
  }

  function list(given: NewVM, moref = `vm-${number()}`): VM {
    const vm: VM = {
      ...given,
      moref,
      vCenter: self,
      vCenterInstanceUUID: self.instanceUUID,
      registeredAt: timeline.now,
      leftAt: undefined,
      tenant: given.tenant,
      pool: given.pool ?? DEFAULT_POOL,
      attributes: given.attributes ?? {},
    }
    vms.set(vm.moref, vm)
    known.set(vm.moref, vm)
    self.loaded?.add(vm.moref)
    if (vm.machine !== undefined) {
      vm.machine.vm = vm
      vm.machine.lastVM = vm
      vm.machine.lists.add(vm.moref)
      stand(vm)
    }
    tell(vm.moref)
    return vm
  }

  const self: VCenterModel = {
    name: options.name,
    instanceUUID: options.instanceUUID,
    cloneOf: options.cloneOf,
    retiredAt: undefined,
    folders: options.folders,
    loading: options.loading,
    vms,
    known,
    unlistedAt: new Map(),
    sessions,
    restSessions: new Set(),
    reach: 'works',
    slow: 0,
    slowLogin: 0,
    slowSetUp: 0,
    losesLogins: undefined,
    lostRESTLoginAt: Number.NEGATIVE_INFINITY,
    silence: 0,
    resolving: 0,
    brokeAt: Number.NEGATIVE_INFINITY,
    errors: 0,
    passwordWrong: false,
    refusesCalls: random.chance(0.5),
    page: random.chance(0.2) ? 3 : 1_000,
    mayEndSessions: random.derive('sessions').chance(0.5),
    searchBroken: false,
    withoutPropagation: false,
    denied: new Set(),
    reticent: new Set(),
    faults: new Map(),
    tagsDenied: new Map(),
    tagsHidden: false,
    // A copy of an appliance has the tags of that; each goes its own way from then on.
    tagging: options.cloneOf === undefined ? createTagging() : structuredClone(options.cloneOf.tagging),
    untagged: new Set(),
    attributesHidden: undefined,
    pushLost: 0,
    lostAt: new Map(),
    impostor: undefined,
    mistakenBy: new Set(),
    loaded: undefined,
    register(given, moref) {
      // In one vCenter no two VMs have one instance UUID: it gives the newcomer another.
      const taken = [...vms.values()].some(({ instanceUUID }) => instanceUUID === given.instanceUUID)
      return list(taken ? { ...given, instanceUUID: random.uuid() } : given, moref)
    },
    registerTwice: (given) => list(given),
    unregister(vm) {
      vms.delete(vm.moref)
      self.unlistedAt.set(vm.moref, timeline.now)
      const told = tell(vm.moref)
      if (vm.machine?.vm === vm) {
        // Of a Fault Tolerance group, the machine is listed as long as one of its VMs is.
        const other = [...vms.values()].find(
          ({ machine, leftAt }) => machine === vm.machine && leftAt === undefined,
        )
        if (other === undefined) vanish(vm.machine, vm, timeline.now, told)
        else {
          vm.machine.vm = other
          vm.machine.lastVM = other
        }
      }
    },
    changed(vm) {
      stand(vm)
      tell(vm.moref)
    },
    retag(change) {
      change(self.tagging)
      noteCounted(self.tagging)
      for (const vm of vms.values()) stand(vm)
    },
    login(client) {
      options.onLogin(client.owner, !self.passwordWrong)
      if (self.passwordWrong) throw new SoapFault('InvalidLogin', '')
      const key = `session-${number()}`
      const session = createSessionModel({ key, client, vCenter: self, timeline, random, number })
      sessions.set(session.key, session)
      return session
    },
    loginREST(client) {
      options.onLogin(client.owner, !self.passwordWrong)
      if (self.passwordWrong) return undefined
      const key = `rest-${number()}`
      self.restSessions.add(key)
      return key
    },
    endSessions,
    breakWaits() {
      self.brokeAt = timeline.now
      for (const session of sessions.values()) session.breakWaits(breaking(reset))
      self.impostor?.breakWaits()
    },
    changedAll() {
      for (const moref of vms.keys()) tell(moref)
    },
    restart(down, last) {
      const mine = ++boot
      const total = random.between(0.1, 1) * self.loading
      self.reach = 'down'
      self.brokeAt = timeline.now
      endSessions()
      timeline.after(down, `vCenter ${self.name} is back`, () => {
        if (boot !== mine) return
        self.reach = 'works'
        load(mine, total, last)
      })
      return down + total
    },
    session(key) {
      const session = sessions.get(key ?? '')
      if (session === undefined) throw new SoapFault('NotAuthenticated', '')
      return session
    },
    isVisible: (vm) =>
      vms.get(vm.moref) === vm &&
      self.loaded?.has(vm.moref) !== false &&
      !self.withoutPropagation &&
      !self.denied.has(vm.folder.moref),
    read(moref) {
      const vm = vms.get(moref)
      const object = { type: 'VirtualMachine', value: moref }
      if (vm === undefined || self.loaded?.has(moref) === false)
        throw new SoapFault('ManagedObjectNotFound', '', object)
      if (!self.isVisible(vm)) throw new SoapFault('NoPermission', '', object)
      if (self.faults.get(moref) === 'read') throw new SoapFault('SystemError', '')
      if (self.faults.get(moref) === 'silent') throw new NoAnswer('TimedOut', 'nothing is answered')
      return vm
    },
    search(uuid, kind) {
      if (self.searchBroken) return []
      const found = [...vms.values()].filter(
        (vm) =>
          (kind === 'bios' ? vm.biosUUID : vm.instanceUUID) === uuid &&
          vm.connectionState !== 'inaccessible' &&
          self.isVisible(vm),
      )
      if (found.some(({ moref }) => self.faults.get(moref) === 'search'))
        throw new SoapFault('RuntimeFault', '')
      return found
    },
  }
  return self
}

/** Remembers where the machine of a VM has stood. */
function stand(vm: VM): void {
  const { machine, vCenter } = vm
  if (machine === undefined) return
  for (const place of [...placesAt(vCenter.tagging, vm), ...sourceKeys(vm)]) machine.places.add(place)
}

/** One that was back for less than this, milliseconds, may have come and gone between two probes. */
const BRIEF = 150_000

function vanish(machine: Machine, vm: VM, now: number, told: boolean): void {
  machine.vm = undefined
  if (machine.firstVanishedAt === undefined || now - vm.registeredAt > BRIEF) machine.firstVanishedAt = now
  machine.vanishedAt = now
  machine.vanishedUntold = !told
}

/** Thrown in place of an answer that never comes. */
export class NoAnswer extends VCenterError {}

/** One that is down, or goes down during a request. */
export function away({ name }: VCenterModel): VCenterError {
  return new VCenterError('Unreachable', `${name}:443 is away`)
}
