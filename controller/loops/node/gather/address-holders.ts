import { createReverseIndex } from '../../../lib/multimap.ts'
import { failureOf, type Lookup, vmsOf } from '../../../types/inventory.ts'
import { isOlder, NO_WITNESS, witnessOf } from '../decide/addresses/usable-addresses.ts'
import { isBoundTo } from '../decide/bound-vm.ts'
import { isGone } from '../decide/lifecycle/evidence.ts'
import type { AddressHolder, AddressWitness, NodeFacts } from '../decide/node-facts.ts'
import { previousStatus, specOf, verifiedVM } from '../facts/previous-status.ts'
import { lookUpInAll } from './across-vcenters.ts'
import type { Sources } from './sources.ts'

/**
 * Finds the other Node that holds an address or a host name. Of several, those come first that vCenter does not contradict,
 * then those that were verified with it, then the oldest.
 */
export function addressHolder(address: string, except: string, sources: Sources): AddressHolder | undefined {
  const { index, reservedBy } = sources
  const names = new Set([
    ...index
      .addressHolders(address)
      .filter((name) => name !== except && heldBy(name, sources).includes(address)),
    ...reservedBy(address),
  ])
  names.delete(except)
  const [strongest] = Array.from(names, (name) => holderOf(name, address, sources)).sort(byStrength)
  return strongest
}

function byStrength(a: AddressHolder, b: AddressHolder): number {
  return (
    Number(isDenied(a.witness)) - Number(isDenied(b.witness)) ||
    Number(b.verified) - Number(a.verified) ||
    (isOlder(a, b) ? -1 : 1)
  )
}

function holderOf(name: string, address: string, sources: Sources): AddressHolder {
  const { deletingSince, finalizers = [], creationTimestamp } = sources.node(name) ?? {}
  const { witness, ...known } = verification(name, sources)
  return { name, deletingSince, finalizers, creationTimestamp, ...known, witness: witness(address) }
}

/** Whether a Node was verified to be a VM, and what vCenter says of its addresses if so. */
function verification(name: string, { inventories, settings, ...sources }: Sources) {
  const node = sources.node(name)
  const report = sources.report(name)
  const previous = node === undefined ? {} : previousStatus(report, node)
  const boundTo = verifiedVM(previous)
  const lookups =
    boundTo === undefined
      ? []
      : lookUpInAll([boundTo.biosUUID], { boundTo, previous }, inventories, settings).map(
          (each) => each.lookup,
        )
  const vm = lookups.flatMap(vmsOf).find((each) => isBoundTo(boundTo, each))
  const spec = node && specOf(report, node)
  return {
    verified: boundTo !== undefined,
    unseen: boundTo === undefined || vm !== undefined ? undefined : whyUnseen(lookups),
    witness: (address: string): AddressWitness =>
      vm === undefined ? NO_WITNESS : witnessOf(address, spec, vm, settings.nodes),
  }
}

/** What vCenter says of an address of this Node itself. */
export function ownWitness(name: string, address: string, sources: Sources): AddressWitness {
  return verification(name, sources).witness(address)
}

function whyUnseen(lookups: readonly Lookup[]): string | undefined {
  if (lookups.some(({ state }) => state === 'pending')) return undefined
  const failure = lookups.map(failureOf).find((each) => each !== undefined)
  return failure?.message ?? 'its VM is not found: see VMFound in its NodeReport'
}

function isDenied({ tools, network }: AddressWitness): boolean {
  return tools === 'denied' || network === 'other'
}

/** The addresses of a Node that vCenter does not contradict. Another Node may take the others. */
export function undeniedAddresses(
  name: string,
  held: readonly string[],
  sources: Sources,
): readonly string[] {
  const { witness } = verification(name, sources)
  return held.filter((address) => !isDenied(witness(address)))
}

function heldBy(name: string, sources: Sources): readonly string[] {
  const node = sources.node(name)
  return node === undefined
    ? sources.index.addressesOf(name)
    : heldAddresses({ node, report: sources.report(name) }, sources)
}

/**
 * What no other Node may use: this Node's name, and its addresses unless its machine is proven gone. One that is being deleted
 * holds no name either then: a finalizer may keep it forever.
 */
export function heldAddresses(
  { node, report }: Pick<NodeFacts, 'node' | 'report'>,
  { index, tracker }: Pick<Sources, 'index' | 'tracker'>,
): readonly string[] {
  const { name } = node
  const gone = isGone(node, report, tracker.evidence(name))
  const held = index.addressesOf(name)
  if (!gone) return held
  return node.deleting ? [] : held.filter((each) => each === name)
}

/**
 * Which Nodes wait for an address that another Node holds. In memory only: a new leader reconciles every Node anyway.
 *
 * Wakes only when an address is given up: two Nodes that want each other's addresses would otherwise never rest.
 */
export function createAddressWaits(wake: (name: string) => void) {
  const waiting = createReverseIndex()
  const held = new Map<string, readonly string[]>()

  return {
    /** Sets which Nodes hold an address that this one wants. */
    waits: (name: string, holders: readonly string[]): void => waiting.set(name, holders),
    /** Whether another Node waits for an address of this one. */
    isAwaited: (name: string): boolean => waiting.has(name),
    /** Sets the addresses that a Node holds. If it gave one up, the Nodes that wait for it are woken. */
    holds(name: string, addresses: readonly string[]): void {
      const before = held.get(name)
      if (addresses.length === 0) held.delete(name)
      else held.set(name, addresses)
      // A Node that was not reconciled before may have held anything.
      if (before?.every((address) => addresses.includes(address))) return
      for (const waiter of waiting.get(name)) wake(waiter)
    },
  }
}
