/** A property collector: what its filters have told its client of the VMs of views, and the wait for what changes. */

import { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import { element, reference } from '../../../controller/vcenter/wire/soap.ts'
import type { Random } from '../random.ts'
import type { Appointment, Timeline } from '../timeline.ts'
import { missingXML } from './elements.ts'
import { type Shown, showVM, vmReference } from './values.ts'
import type { VCenterModel } from './vcenter.ts'

/** Answers an open wait: with the content of the response, or by throwing as vCenter does. */
export type Respond = (content: () => string) => void

/** Some of what was read, and the token for the rest. */
export interface Page {
  readonly objects: readonly string[]
  readonly token: string | undefined
}

export interface Collector {
  /** Watches these properties of these VMs, or of all; the filter has this reference. `isList` where they are a list view's members. */
  watch(filter: string, vms: Set<string> | undefined, isList: boolean, paths: readonly string[]): void
  /** Whether it watches this list view. */
  watches(view: Set<string>): boolean
  /** What has changed since this version, as soon as something has; nothing after `ms`. Returns how to give up. */
  wait(version: string, ms: number, respond: Respond): () => void
  /** A VM of its list views has changed, is no longer shown, or is no longer a member. */
  changed(moref: string): void
  /** The same for its filters on all VMs, which also tell of one that is new. */
  changedAmongAll(moref: string): void
  /** Whether it watches all VMs. */
  watchesAll(): boolean
  /** Whether it is to be told of this VM; undefined where its client has not waited for long, and listens no more. */
  follows(moref: string): boolean | undefined
  /** Ends an open wait in this way; undefined for not at all. */
  breakWait(how: (() => string) | undefined): void
  /** The first so many of what it has read; the rest is kept until its next read. */
  firstPage(objects: readonly string[], atMost: number): Page
  /** Throws InvalidArgument for any but its last token. */
  nextPage(token: string, atMost: number): Page
}

export interface CollectorOptions {
  readonly vCenter: VCenterModel
  readonly owner: string
  readonly timeline: Timeline
  readonly random: Random
  /** Of tokens. */
  readonly number: () => number
}

/** Milliseconds. */
const LISTENS = 60_000

/** What its client knows by one filter. */
interface Filter {
  readonly reference: string
  /** Undefined for all VMs. */
  readonly vms: Set<string> | undefined
  /** Whether they are a list view's members. */
  readonly isList: boolean
  readonly paths: readonly string[]
  /** VMs that its client knows, with what it was told last. */
  readonly told: Map<string, Shown>
  /** VMs that may have changed since. */
  readonly changed: Set<string>
}

export function createCollector({ vCenter, owner, timeline, random, number }: CollectorOptions): Collector {
  const filters: Filter[] = []
  let version = 0
  let open: { readonly respond: Respond; readonly end: Appointment; pushing: boolean } | undefined
  let waitedAt = timeline.now
  /** What is left of the last read. */
  let rest: { readonly token: string; readonly objects: readonly string[] } | undefined

  const lists = () => filters.flatMap(({ vms, isList }) => (isList && vms !== undefined ? [vms] : []))
  const hasChanged = () => filters.some(({ changed }) => changed.size > 0)

  /** Writes what has changed, as an UpdateSet; undefined where nothing has. Throws as vCenter does, and keeps it for the next wait. */
  function takeUpdates(): string | undefined {
    for (const { vms, changed } of filters) {
      for (const moref of changed) {
        if (vCenter.faults.get(moref) === 'poll' && vms?.has(moref) !== false)
          throw new SoapFault('SystemError', '')
      }
    }
    const sets = filters.map(takeFilter).join('')
    return sets === '' ? undefined : `<returnval>${element('version', ++version)}${sets}</returnval>`
  }

  function takeFilter({ reference: value, vms, paths, told, changed }: Filter): string {
    let updates = ''
    for (const moref of changed) {
      const vm = vCenter.vms.get(moref)
      const shows = vm !== undefined && vCenter.isVisible(vm) && vms?.has(moref) !== false
      const shown = shows ? showVM(vm, paths) : undefined
      updates += updateXML(moref, told.get(moref), shown)
      if (shown === undefined) told.delete(moref)
      else told.set(moref, shown)
      if (vm === undefined) vms?.delete(moref)
    }
    changed.clear()
    if (updates === '') return ''
    return `<filterSet>${reference('filter', { type: 'PropertyFilter', value })}${updates}</filterSet>`
  }

  function settle(content: () => string): void {
    const wait = open
    if (wait === undefined) return
    open = undefined
    waitedAt = timeline.now
    wait.end.cancel()
    wait.respond(content)
  }

  /** Answers the open wait with what this returns, or throws; not where it returns nothing. */
  function answerWith(take: () => string | undefined): void {
    let content: string | undefined
    try {
      content = take()
    } catch (error) {
      settle(() => {
        throw error
      })
    }
    if (content !== undefined) settle(() => content)
  }

  /** Answers the open wait soon; what changes until then comes with it. */
  function push(): void {
    const wait = open
    if (wait === undefined || wait.pushing || !hasChanged()) return
    wait.pushing = true
    timeline.after(random.between(2, 40), `${vCenter.name} pushes to ${owner}`, () => {
      wait.pushing = false
      if (open !== wait) return
      if (hasChanged()) answerWith(takeUpdates)
    })
  }

  const self: Collector = {
    watch(reference, vms, isList, paths) {
      filters.push({ reference, vms, isList, paths, told: new Map(), changed: new Set() })
    },
    watches: (view) => lists().includes(view),
    watchesAll: () => filters.some(({ vms }) => vms === undefined),
    wait(since, ms, respond) {
      if (since === '') {
        for (const { vms, told, changed } of filters) {
          told.clear()
          for (const moref of vms ?? vCenter.vms.keys()) changed.add(moref)
        }
      }
      const end = timeline.after(ms, `a wait of ${owner} ends`, () => settle(() => ''))
      const wait = { respond, end, pushing: false }
      open = wait
      if (ms === 0) answerWith(() => takeUpdates() ?? '')
      else push()
      return () => {
        end.cancel()
        if (open === wait) open = undefined
      }
    },
    changed(moref) {
      for (const { vms, changed } of filters) if (vms !== undefined) changed.add(moref)
      push()
    },
    changedAmongAll(moref) {
      for (const { vms, changed } of filters) if (vms === undefined) changed.add(moref)
      push()
    },
    follows(moref) {
      const listens = open !== undefined || timeline.now - waitedAt < LISTENS
      if (lists().some((view) => view.has(moref))) return true
      return lists().length > 0 && listens ? false : undefined
    },
    breakWait(how) {
      if (how !== undefined) settle(how)
      open?.end.cancel()
      open = undefined
    },
    firstPage(objects, atMost) {
      rest = objects.length > atMost ? { token: String(number()), objects: objects.slice(atMost) } : undefined
      return { objects: objects.slice(0, atMost), token: rest?.token }
    },
    nextPage(token, atMost) {
      if (rest?.token !== token) throw new SoapFault('InvalidArgument', '')
      return self.firstPage(rest.objects, atMost)
    },
  }
  return self
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
