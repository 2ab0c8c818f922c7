import type { ControlClient, VcsimVM } from './control.ts'

/** How vCenter refuses to let an unprivileged account read an object. */
export type ReadRefusal =
  /** The whole call fails with NoPermission, naming the object. */
  | 'fault'
  /** The whole call fails with NoPermission, naming the root folder instead. */
  | 'faultOnRoot'
  /** The object is answered without properties, with NoPermission for each. */
  | 'missingSet'

/** One PropertyChange of an update. */
export interface ToldChange {
  name: string
  op: 'assign' | 'add' | 'remove' | 'indirectRemove'
  value?: string
}

/**
 * What happens to the inventory and to the account's sight of it. None of this counts as a call, and none of it ends a
 * session. `vm` is a reference's value or a name; any other object may be given by its inventory path too, as
 * `/DC0/vm/workers`. Machines out of sight are still in `vms()`, and their guests still reach their guestinfo.
 */
export interface VcsimScenes {
  /**
   * Takes the account's privileges on an object and all below it, by default on the root: on everything. As vCenter
   * does: searches find none of the machines, views lose them (`leave`), reads by reference are refused,
   * HasPrivilegeOnEntities grants nothing. The account may still log in. `alone` leaves those on what is below it, as
   * where they were given further down.
   */
  revoke(options?: { object?: string; as?: ReadRefusal; alone?: boolean }): Promise<void>
  /** Gives privileges back: those revoked on this object, or all. */
  restore(object?: string): Promise<void>
  /**
   * Refuses each change of a list view that is about one of these machines (by reference), of which reads tell all the
   * same: NoPermission, or with `gone` ManagedObjectNotFound. The fault names the machine, or with `nameRoot` the root
   * folder. None where none is given.
   */
  refuseViews(options: { vms: string[]; gone?: boolean; nameRoot?: boolean }): Promise<void>
  /** The VMs that clients watch, and whether a client has asked for changes since the last of them was added. */
  watchedVMs(): Promise<{ vms: string[]; polled: boolean }>
  /**
   * Makes machines vanish for everybody: ManagedObjectNotFound by reference, found by no search, `leave`. For a mass
   * disappearance, give many at once. (The simulator forgets to push a `leave` in the moment in which the client changes
   * its list view; a resync finds it.)
   */
  hide(...vms: string[]): Promise<void>
  /** Brings hidden machines back under the same references; all of them where none is named. */
  show(...vms: string[]): Promise<void>
  /** Takes one machine out of the inventory, whatever its power state. */
  unregister(vm: string): Promise<void>
  /** Takes a hidden or unregistered machine in again: the same UUIDs, MACs and guest, a new reference. */
  register(vm: string): Promise<VcsimVM>
  /** Destroys a machine and makes another of the same name, in the same place, with new UUIDs, MACs and reference. */
  recreate(vm: string): Promise<VcsimVM>
  /** Powers a machine off and destroys it, also while calls are spoilt by faults. */
  destroy(vm: string): Promise<void>
  /** Makes one more machine, powered on, in the place of another, with `cards` network cards beyond the first. */
  create(options: { name: string; like: string; cards?: number }): Promise<VcsimVM>
  /** Moves a machine to another host (with its cluster: vMotion), another folder (and so datacenter), or both. */
  move(options: { vm: string; host?: string; folder?: string }): Promise<void>
  /** Changes whether a host answers vCenter. Machines of one that does not are `disconnected`. */
  setHost(options: {
    host: string
    connectionState: 'connected' | 'disconnected' | 'notResponding'
  }): Promise<void>
  /**
   * Makes one Fault Tolerance group of these machines: the BIOS UUID and the MACs of the first, its primary, for all of
   * them; instance UUIDs and references stay their own. The same ones in another order are a failover.
   */
  protect(...vms: [primary: string, ...secondaries: string[]]): Promise<void>
  /** Lists a task with a machine that goes on until it is ended; resolves with its reference. `running` by default. */
  startTask(options: { vm: string; descriptionId: string; state?: 'running' | 'queued' }): Promise<string>
  /**
   * Takes the account's privilege on single properties of a machine: reads and updates say NoPermission for each, and
   * tell all others. Searches and views know nothing of it. None gives them back.
   */
  deny(vm: string, ...paths: string[]): Promise<void>
  /** Says NotAuthenticated of these properties, though the session lives; none gives all of them back. */
  denyStray(vm: string, ...paths: string[]): Promise<void>
  /** Has those who watch a machine told of these changes, whatever it is like; values are texts. */
  tell(vm: string, ...changes: ToldChange[]): Promise<void>
  /** Puts at most so many objects into a page, whatever is asked for, of reads and of updates; 0 leaves it to the client. */
  limitPages(objects: number): Promise<void>
  /** Ends a task. One that is `gone` cannot be read any more, and its machine still lists it. */
  endTask(task: string, state?: 'success' | 'error' | 'gone'): Promise<void>
}

export function createScenes(control: ControlClient): VcsimScenes {
  return {
    revoke: ({ object = '/', as = 'fault', alone = false } = {}) =>
      control.call('POST', '/revoke', { object, as, alone }),
    restore: (object = '') => control.call('POST', '/restore', { object, as: '' }),
    refuseViews: (options) => control.call('POST', '/list-views', options),
    watchedVMs: () => control.call('GET', '/list-views'),
    protect: (...vms) => control.call('POST', '/fault-tolerance', { vms }),
    hide: (...vms) => control.call('POST', '/hide', vms),
    show: (...vms) => control.call('POST', '/show', vms),
    unregister: (vm) => control.call('POST', '/hide', [vm]),
    register: (vm) => control.call('POST', '/register', { vm }),
    recreate: (vm) => control.call('POST', '/create', { name: '', like: vm }),
    destroy: (vm) => control.call('POST', '/destroy', { vm }),
    create: (options) => control.call('POST', '/create', options),
    move: (options) => control.call('POST', '/move', options),
    setHost: (options) => control.call('POST', '/host', options),
    startTask: async (options) => (await control.call<{ task: string }>('POST', '/tasks', options)).task,
    deny: (vm, ...paths) => control.call('POST', '/deny', { vm, paths }),
    denyStray: (vm, ...paths) => control.call('POST', '/deny', { vm, paths, stray: true }),
    tell: (vm, ...changes) => control.call('POST', '/tell', { vm, changes }),
    limitPages: (objects) => control.call('PUT', '/pages', { objects }),
    endTask: (task, state = 'success') => control.call('DELETE', '/tasks', { task, state }),
  }
}
