/** A session of a vCenter, with the views and property collectors that were made in it. */

import { element, reference } from '../../../controller/vcenter/wire/envelope.ts'
import { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import type { ManagedObjectReference } from '../../../controller/vcenter/wire/managed-object-reference.ts'
import type { Random } from '../random.ts'
import type { Appointment, Timeline } from '../timeline.ts'
import { missingXML } from './elements.ts'
import { type Shown, showVM, vmReference } from './values.ts'
import type { VCenterModel } from './vcenter.ts'

/** Who has logged in. */
export interface Client {
  /** The process and inventory, unique. */
  readonly owner: string
  /** Whether the process still exists. */
  alive(): boolean
}

/** Answers an open wait: with the content of the response, or by throwing as vCenter does. */
export type Respond = (content: () => string) => void

export interface SessionModel {
  readonly key: string
  readonly owner: string
  /** Whoever has it was told that it has ended, or has ended it. */
  over: boolean
  /** Makes a view: of the VMs that are added to it, or of all. */
  createView(type: 'ListView' | 'ContainerView'): ManagedObjectReference
  /** The VMs of a list view; undefined for all. Throws ManagedObjectNotFound. */
  members(view: string): Set<string> | undefined
  /** Adds VMs to a list view, and removes others. Throws ManagedObjectNotFound. */
  change(
    view: string,
    added: readonly ManagedObjectReference[],
    removed: readonly ManagedObjectReference[],
  ): void
  createCollector(): ManagedObjectReference
  /** Watches these properties of the members of a list view. */
  watch(collector: string, view: string, paths: readonly string[]): void
  /** The first so many of what a collector has read; the rest is kept until its next read. */
  firstPage(collector: string, objects: readonly string[], atMost: number): Page
  /** Throws InvalidArgument for any but its last token. */
  nextPage(collector: string, token: string, atMost: number): Page
  /** Destroys a view or collector. Throws ManagedObjectNotFound. */
  destroy(object: ManagedObjectReference): void
  /** What has changed since this version, as soon as something has; nothing after `ms`. Returns how to give up. */
  wait(collector: string, version: string, ms: number, respond: Respond): () => void
  /**
   * A VM has changed, or is no longer shown. False where nobody is told: it is not watched, or `lost`. True where nobody
   * listens.
   */
  changed(moref: string, lost: () => boolean): boolean
  /** Ends open waits in this way; undefined for none at all. */
  breakWaits(how: (() => string) | undefined): void
}

/** Some of what was read, and the token for the rest. */
export interface Page {
  readonly objects: readonly string[]
  readonly token: string | undefined
}

interface Collector {
  watched?: { readonly view: Set<string>; readonly paths: readonly string[] }
  version: number
  /** VMs that its client knows, with what it was told last. */
  readonly told: Map<string, Shown>
  /** VMs that may have changed since. */
  readonly changed: Set<string>
  wait: { readonly respond: Respond; readonly end: Appointment; pushing: boolean } | undefined
  waitedAt: number
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

/** Whoever has not waited for so long, milliseconds, listens no more. */
const LISTENS = 60_000

export function createSessionModel(options: SessionModelOptions): SessionModel {
  const { key, client, vCenter, timeline, random, number } = options
  const views = new Map<string, Set<string> | undefined>()
  const collectors = new Map<string, Collector>()
  /** What is left of each collector's last read. */
  const rests = new Map<string, { readonly token: string; readonly objects: readonly string[] }>()

  function collectorOf(value: string): Collector {
    const collector = collectors.get(value)
    if (collector === undefined) throw gone({ type: 'PropertyCollector', value })
    return collector
  }

  function listOf(view: string): Set<string> {
    const members = views.get(view)
    if (members === undefined) throw gone({ type: 'ListView', value: view })
    return members
  }

  /** Writes what has changed, as a FilterUpdate; undefined where nothing has. */
  function updatesOf(collector: Collector): string | undefined {
    const { watched, told, changed } = collector
    let updates = ''
    for (const moref of changed) {
      const vm = vCenter.vms.get(moref)
      const shown =
        vm !== undefined && vCenter.isVisible(vm) && watched?.view.has(moref) === true
          ? showVM(vm, watched.paths)
          : undefined
      updates += updateXML(moref, told.get(moref), shown)
      if (shown === undefined) told.delete(moref)
      else told.set(moref, shown)
      if (vm === undefined) watched?.view.delete(moref)
    }
    changed.clear()
    if (updates === '') return undefined
    const version = element('version', ++collector.version)
    return `<returnval>${version}<filterSet>${updates}</filterSet></returnval>`
  }

  function settle(collector: Collector, content: () => string): void {
    const { wait } = collector
    if (wait === undefined) return
    collector.wait = undefined
    collector.waitedAt = timeline.now
    wait.end.cancel()
    wait.respond(content)
  }

  /** Answers the open wait soon; what changes until then comes with it. */
  function push(collector: Collector): void {
    const { wait } = collector
    if (wait === undefined || wait.pushing || collector.changed.size === 0) return
    wait.pushing = true
    timeline.after(random.between(2, 40), `${vCenter.name} pushes to ${client.owner}`, () => {
      wait.pushing = false
      if (collector.wait !== wait) return
      const updates = updatesOf(collector)
      if (updates !== undefined) settle(collector, () => updates)
    })
  }

  const listens = ({ watched, wait, waitedAt }: Collector): boolean =>
    watched !== undefined && (wait !== undefined || timeline.now - waitedAt < LISTENS)

  const self: SessionModel = {
    key,
    owner: client.owner,
    over: false,
    createView(type) {
      const value = `session[${key}]${number()}`
      views.set(value, type === 'ListView' ? new Set() : undefined)
      return { type, value }
    },
    members(view) {
      if (!views.has(view)) throw gone({ type: 'View', value: view })
      return views.get(view)
    },
    change(view, added, removed) {
      const members = listOf(view)
      for (const { value } of removed) members.delete(value)
      for (const { value } of added) members.add(value)
      for (const collector of collectors.values()) {
        if (collector.watched?.view !== members) continue
        for (const { value } of [...added, ...removed]) collector.changed.add(value)
        push(collector)
      }
    },
    createCollector() {
      const value = `session[${key}]${number()}`
      collectors.set(value, {
        version: 0,
        told: new Map(),
        changed: new Set(),
        wait: undefined,
        waitedAt: timeline.now,
      })
      return { type: 'PropertyCollector', value }
    },
    watch(collector, view, paths) {
      collectorOf(collector).watched = { view: listOf(view), paths }
    },
    firstPage(collector, objects, atMost) {
      const token = objects.length > atMost ? String(number()) : undefined
      if (token === undefined) rests.delete(collector)
      else rests.set(collector, { token, objects: objects.slice(atMost) })
      return { objects: objects.slice(0, atMost), token }
    },
    nextPage(collector, token, atMost) {
      const rest = rests.get(collector)
      if (rest?.token !== token) throw new SoapFault('InvalidArgument', '')
      return self.firstPage(collector, rest.objects, atMost)
    },
    destroy({ type, value }) {
      rests.delete(value)
      if (!(type === 'PropertyCollector' ? collectors : views).delete(value)) throw gone({ type, value })
    },
    wait(value, version, ms, respond) {
      const collector = collectorOf(value)
      if (version === '') {
        collector.told.clear()
        for (const moref of collector.watched?.view ?? []) collector.changed.add(moref)
      }
      const end = timeline.after(ms, `a wait of ${client.owner} ends`, () => settle(collector, () => ''))
      const wait = { respond, end, pushing: false }
      collector.wait = wait
      push(collector)
      return () => {
        end.cancel()
        if (collector.wait === wait) collector.wait = undefined
      }
    },
    changed(moref, lost) {
      if (!client.alive()) return true
      let all = true
      for (const collector of collectors.values()) {
        if (!listens(collector)) continue
        if (collector.watched?.view.has(moref) !== true || lost()) all = false
        else {
          collector.changed.add(moref)
          push(collector)
        }
      }
      return all
    },
    breakWaits(how) {
      for (const collector of collectors.values()) {
        if (how !== undefined) settle(collector, how)
        collector.wait?.end.cancel()
        collector.wait = undefined
      }
    },
  }
  return self
}

function gone(object: ManagedObjectReference): SoapFault {
  return new SoapFault('ManagedObjectNotFound', '', object)
}

/** An ObjectUpdate; empty where there is nothing to tell. */
function updateXML(moref: string, before: Shown | undefined, now: Shown | undefined): string {
  const update = (kind: string, changes: string) =>
    `<objectSet>${element('kind', kind)}${reference('obj', vmReference(moref))}${changes}</objectSet>`
  if (now === undefined) return before === undefined ? '' : update('leave', '')
  let changes = missingXML(now.refused)
  for (const [path, value] of now.values) {
    if (before?.values.get(path) === value) continue
    const op = value === undefined ? 'indirectRemove' : 'assign'
    changes += `<changeSet>${element('name', path)}${element('op', op)}${value ?? ''}</changeSet>`
  }
  if (before === undefined) return update('enter', changes)
  return changes === '' ? '' : update('modify', changes)
}
