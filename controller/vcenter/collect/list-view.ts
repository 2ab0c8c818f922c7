/** Keeps the list view that vCenter watches equal to the followed VMs. */
import type { Timings } from '../timings.ts'
import { type SoapFault, UnansweredError } from '../wire/errors.ts'
import { type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { reference, type SoapClient, toReference } from '../wire/soap.ts'
import { childrenOf } from '../wire/xml.ts'
import type { Quarantine } from './quarantine.ts'
import { callWithoutRefused } from './refusals.ts'

/** Where more members than these are not reported, vCenter is still busy reporting: so many are not destroyed at once. */
const MOST_OVERDUE = 100

interface Change {
  readonly kind: 'add' | 'remove'
  readonly vm: string
}

/** The key of a change in quarantine. */
const WATCH = 'watch '
const keyOf = ({ vm }: Change): string => WATCH + vm

/** The members of an empty list view. */
export function createMembers(options: {
  readonly soap: SoapClient
  readonly listView: ManagedObjectReference
  /** By default what is not answered is thrown. */
  readonly quarantine?: Quarantine
  readonly timings: Timings
}) {
  const { soap, listView, quarantine, timings } = options
  const members = new Set<string>()
  /** In order of the last attempt, so that those left over by one attempt come first in the next. */
  const refused = new Map<string, SoapFault | UnansweredError>()
  let retrying = false
  /** Members that vCenter has not reported yet, and those that it had not reported at the last call of `overdue`. */
  const entering = new Set<string>()
  let enteringBefore: ReadonlySet<string> = new Set()

  async function modify(
    changes: readonly Change[],
    deadline: number,
    signal: AbortSignal,
  ): Promise<string[]> {
    // vCenter may tell of them before it answers.
    for (const { kind, vm } of changes) {
      if (kind === 'add') entering.add(vm)
      else entering.delete(vm)
    }
    const response = await soap.call({
      operation: 'ModifyListView',
      target: listView,
      parameters: changes.map(({ kind, vm }) => reference(kind, vmReference(vm))).join(''),
      deadline,
      ofObjects: true,
      signal,
    })
    for (const { kind, vm } of changes) {
      refused.delete(vm)
      if (kind === 'add') members.add(vm)
      else members.delete(vm)
    }
    return childrenOf(response, 'returnval').flatMap((each) => toReference(each)?.value ?? [])
  }

  /** Makes all changes that vCenter accepts. */
  async function modifyAll(all: readonly Change[], signal: AbortSignal) {
    const unknown: string[] = []
    const left = await callWithoutRefused({
      groups: [all.filter((change) => quarantine?.held(keyOf(change)) === undefined)],
      objectOf: ({ vm }) => vmReference(vm),
      async call(changes) {
        unknown.push(...(await modify(changes, timings.readDeadline, signal)))
      },
      onRefused(change, error) {
        giveUp(change, error)
        if (error.fault === 'ManagedObjectNotFound') unknown.push(change.vm)
      },
      onUnanswered:
        quarantine && ((objects, error) => quarantine.hold({ objects, keyOf, error, ask: modify })),
    })
    for (const change of all) {
      const held = quarantine?.held(keyOf(change))
      if (held?.alone === true) giveUp(change, held.error)
    }
    return { unknown, unfinished: left.some(({ vm }) => !refused.has(vm)) }
  }

  /** A member that cannot be removed is ignored when it changes. */
  function giveUp({ kind, vm }: Change, error: SoapFault | UnansweredError): void {
    members.delete(vm)
    entering.delete(vm)
    refused.delete(vm)
    if (kind === 'add') refused.set(vm, error)
  }

  return {
    /**
     * Adds and removes members, in one call unless vCenter refuses some: that takes System.View on each. Returns the VMs that
     * vCenter does not know, how many changes there were, and whether some are left for the next `set`, because they would take
     * too many calls; undefined where nothing changes. Throws a VCenterError where vCenter fails as a whole.
     */
    async set(wanted: ReadonlySet<string>, signal: AbortSignal) {
      for (const vm of [...refused.keys()]) if (!wanted.has(vm)) refused.delete(vm)
      const again = retrying ? [...refused.keys()] : []
      retrying = false
      const add = [...wanted].filter((vm) => !members.has(vm) && !refused.has(vm))
      const remove = [...members].filter((vm) => !wanted.has(vm))
      const changes: Change[] = [
        ...[...add, ...again].map((vm) => ({ kind: 'add' as const, vm })),
        ...remove.map((vm) => ({ kind: 'remove' as const, vm })),
      ]
      if (changes.length === 0) return undefined
      return { ...(await modifyAll(changes, signal)), changes: changes.length }
    },
    all: (): readonly string[] => [...members],
    /** See {@link WatchedMembers}. */
    async exclude(
      vm: string,
      fault: SoapFault,
      tryOut: (signal: AbortSignal) => Promise<void>,
      signal: AbortSignal,
    ): Promise<void> {
      if (!members.has(vm)) return
      quarantine?.holdCall(keyOf({ kind: 'add', vm }), new UnansweredError(fault), tryOut)
      await modify([{ kind: 'remove', vm }], timings.readDeadline, signal)
      refused.set(vm, fault)
    },
    /** To be called with the keys of which quarantine has news. The next `set` retries the refused VMs if a member's is among them. */
    freed(keys: readonly string[]): void {
      retrying ||= keys.some((key) => key.startsWith(WATCH))
    },
    /** Lets the next `set` retry the refused VMs. */
    retryRefused(): void {
      retrying = true
    },
    has: (vm: string): boolean => members.has(vm),
    /** To be called with each VM that vCenter has reported since it is a member. */
    entered: (vm: string): void => void entering.delete(vm),
    /**
     * The members that vCenter has not reported since the last call of this, though they were members then. A VM that is
     * destroyed just after it has become one neither enters nor leaves. Each is named once; none as long as they are many,
     * because each is read then.
     */
    overdue(): readonly string[] {
      const late = [...entering].filter((vm) => enteringBefore.has(vm) && members.has(vm))
      enteringBefore = new Set(entering)
      if (late.length > MOST_OVERDUE) return []
      for (const vm of late) entering.delete(vm)
      return late
    },
    size: (): number => members.size,
    /** VMs that cannot be watched, and why. */
    refused: (): ReadonlyMap<string, SoapFault | UnansweredError> => refused,
  }
}
