/** A session of a vCenter, with the views and property collectors that were made in it. */
import { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import type { ManagedObjectReference } from '../../../controller/vcenter/wire/managed-object-reference.ts'
import type { Random } from '../random.ts'
import type { Timeline } from '../timeline.ts'
import { type Collector, createCollector } from './collector.ts'
import type { VCenterModel } from './vcenter.ts'

/** Who has logged in. */
export interface Client {
  /** The process and inventory, unique. */
  readonly owner: string
  readonly userAgent: string
  /** Whether the process and its inventory still exist. */
  alive(): boolean
}

export interface SessionModel {
  readonly key: string
  readonly owner: string
  readonly userAgent: string
  /** Whether whoever has logged in still exists. */
  alive(): boolean
  /** Whoever has it was told that it has ended, or has ended it. */
  over: boolean
  /** Whoever has logged in was told of it. */
  known: boolean
  /** Makes a view: of the VMs that are added to it, or of all. */
  createView(type: 'ListView' | 'ContainerView'): ManagedObjectReference
  /** The VMs of a view; undefined for all. Throws ManagedObjectNotFound. */
  members(view: string): ReadonlySet<string> | undefined
  /** Adds VMs to a list view, and removes others. Throws ManagedObjectNotFound. */
  change(
    view: string,
    added: readonly ManagedObjectReference[],
    removed: readonly ManagedObjectReference[],
  ): void
  createCollector(): ManagedObjectReference
  /** By reference; the session has one from the beginning. Throws ManagedObjectNotFound. */
  collector(value: string): Collector
  /** Lets a collector watch properties of VMs, or of those of a view; returns the filter. Throws ManagedObjectNotFound. */
  watch(
    collector: string,
    starts: readonly ManagedObjectReference[],
    paths: readonly string[],
  ): ManagedObjectReference
  /** Destroys a view or collector. Throws ManagedObjectNotFound. */
  destroy(object: ManagedObjectReference): void
  /**
   * A VM has changed, or is no longer shown. False where somebody who listens is not told: it is not followed, or `lost`.
   */
  changed(moref: string, lost: () => boolean): boolean
  /** Ends open waits in this way; undefined for not at all. */
  breakWaits(how: (() => string) | undefined): void
}

export interface SessionModelOptions {
  readonly key: string
  readonly client: Client
  readonly vCenter: VCenterModel
  readonly timeline: Timeline
  readonly random: Random
  /** Of references. */
  readonly number: () => number
}

/** The collector that each session has. */
export const OWN_COLLECTOR = 'propertyCollector'

export function createSessionModel(options: SessionModelOptions): SessionModel {
  const { key, client, number } = options
  const { owner, userAgent, alive } = client
  const views = new Map<string, Set<string> | undefined>()
  const collectors = new Map<string, Collector>([[OWN_COLLECTOR, createCollector({ ...options, owner })]])

  function listOf(view: string): Set<string> {
    const members = views.get(view)
    if (members === undefined) throw gone({ type: 'ListView', value: view })
    return members
  }

  function collector(value: string): Collector {
    const found = collectors.get(value)
    if (found === undefined) throw gone({ type: 'PropertyCollector', value })
    return found
  }

  function membersOf(view: string): Set<string> | undefined {
    if (!views.has(view)) throw gone({ type: 'View', value: view })
    return views.get(view)
  }

  return {
    key,
    owner,
    userAgent,
    alive,
    over: false,
    known: false,
    createView(type) {
      const value = `session[${key}]${number()}`
      views.set(value, type === 'ListView' ? new Set() : undefined)
      return { type, value }
    },
    members: membersOf,
    change(view, added, removed) {
      const members = listOf(view)
      for (const { value } of removed) members.delete(value)
      for (const { value } of added) members.add(value)
      for (const each of collectors.values()) {
        if (!each.watches(members)) continue
        for (const { value } of [...added, ...removed]) each.changed(value)
      }
    },
    createCollector() {
      const value = `session[${key}]${number()}`
      collectors.set(value, createCollector({ ...options, owner }))
      return { type: 'PropertyCollector', value }
    },
    collector,
    watch(value, starts, paths) {
      const filter = `session[${key}]${number()}`
      const [first] = starts
      const isList = first?.type !== 'VirtualMachine'
      const vms = isList ? membersOf(first?.value ?? '') : new Set(starts.map(({ value }) => value))
      collector(value).watch(filter, vms, isList, paths)
      return { type: 'PropertyFilter', value: filter }
    },
    destroy({ type, value }) {
      if (!(type === 'PropertyCollector' ? collectors : views).delete(value)) throw gone({ type, value })
    },
    changed(moref, lost) {
      if (!client.alive()) return true
      let all = true
      for (const each of collectors.values()) {
        const follows = each.follows(moref)
        if (follows === true && !lost()) each.changed(moref)
        else if (follows !== undefined) all = false
        if (each.watchesAll() && !lost()) each.changedAmongAll(moref)
      }
      return all
    },
    breakWaits(how) {
      for (const each of collectors.values()) each.breakWait(how)
    },
  }
}

function gone(object: ManagedObjectReference): SoapFault {
  return new SoapFault('ManagedObjectNotFound', '', object)
}
