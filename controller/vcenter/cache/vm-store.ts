/** The followed UUIDs, the VMs that have them, and the UUIDs still to be searched for. No I/O. */
import { isDeepStrictEqual } from 'node:util'
import type { Lookup } from '../../types/inventory.ts'
import type { VCenterIdentity, VirtualMachine } from '../../types/virtual-machine.ts'
import { unreadableFacts } from '../collect/refusals.ts'
import { isTemplateStill, type VMProperties } from '../properties/resync-properties.ts'
import { VCenterError } from '../wire/errors.ts'
import type { VMLocations } from './vm-locations.ts'
import { UUIDEntry, type VMAnswer } from './vms-of-uuid.ts'

/** What an update has changed. */
export interface Changes {
  /** VMs that have changed or are no longer shown. */
  readonly vms: readonly string[]
  /** UUIDs to be searched for again. */
  readonly doubted: readonly string[]
}

interface VMStoreOptions {
  readonly vCenter: () => VCenterIdentity
  readonly place: (
    machine: VMProperties,
  ) => ReturnType<VMLocations['place']> & Pick<VirtualMachine, 'attributes' | 'moving'>
  readonly onChange: (uuids: ReadonlySet<string>) => void
  /** A UUID has lost its last VM: all others are to be read again, because push may not have reported all that vanished. */
  readonly onLost?: () => void
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number
}

export class VMStore {
  /** Those that failed or are incomplete come last, in the order in which they were answered. */
  readonly #entries = new Map<string, UUIDEntry>()
  /** Each VM with the followed UUID that led to it. */
  readonly #rows = new Map<
    string,
    { readonly machine: VMProperties; readonly uuid: string; readonly view: VirtualMachine }
  >()
  /** UUIDs to be searched for, each with the value of `#wants` when it was last marked. */
  readonly #wanted = new Map<string, number>()
  #wants = 0
  /** Those that {@link park} took from them. */
  readonly #parked = new Set<string>()
  /** Reads of all VMs, by number. */
  #begun = 0
  #ended = 0
  readonly #options: VMStoreOptions

  constructor(options: VMStoreOptions) {
    this.#options = options
  }

  /** Whether it is new. */
  follow(uuid: string): boolean {
    if (this.#entries.has(uuid)) return false
    this.#entries.set(uuid, new UUIDEntry())
    this.#want(uuid)
    return true
  }

  /** Returns whether a VM was followed by it. */
  unfollow(uuid: string): boolean {
    const vms = this.vmsOf(uuid)
    for (const vm of vms) this.#rows.delete(vm)
    this.#entries.delete(uuid)
    this.#wanted.delete(uuid)
    return vms.length > 0
  }

  /** Another vCenter answers from now on: what was shown before says nothing of what it has. All UUIDs are searched for. */
  forgetAll(): void {
    const uuids = this.followed()
    this.#rows.clear()
    for (const uuid of uuids) {
      this.#entries.set(uuid, new UUIDEntry())
      this.#want(uuid)
    }
    this.#notify(uuids)
  }

  /** Marks a followed UUID to be searched for. Its answer stays until then, unless `doubted`. */
  want(uuid: string, doubted = false): void {
    const entry = this.#entries.get(uuid)
    if (entry === undefined) return
    this.#want(uuid)
    if (!doubted) return
    entry.state = 'pending'
    entry.shownUntil ??= this.#options.monotonic()
  }

  /** The same for all, after a time without word from vCenter: it is known to have shown them until `heardAt`, monotonic. */
  wantAll(heardAt: number): void {
    for (const [uuid, entry] of this.#entries) {
      this.#want(uuid)
      entry.shownUntil ??= heardAt
    }
  }

  /**
   * To be called for UUIDs whose VMs were not read this time, because too many others were refused. Those that have failed
   * before stay so until their next turn, in which they are among the first; all others are searched for again.
   */
  postpone(uuids: readonly string[]): void {
    const pending = new Set<string>()
    for (const uuid of uuids) {
      if (typeof this.#entries.get(uuid)?.state === 'object') this.#wanted.delete(uuid)
      else this.#doubt(uuid, pending)
    }
    this.#notify(pending)
  }

  /** To be called for UUIDs whose VMs may not be read at present. What is known stays until {@link wantFailed}. */
  park(uuids: readonly string[]): void {
    for (const uuid of uuids) if (this.#wanted.delete(uuid)) this.#parked.add(uuid)
  }

  /**
   * Marks the UUIDs whose search failed or was incomplete, in the order of those searches, and those that were parked. Returns
   * whether any UUID is marked.
   */
  wantFailed(): boolean {
    for (const [uuid, { state, incomplete }] of this.#entries)
      if (state !== 'pending' && (state !== 'answered' || incomplete !== undefined)) this.#want(uuid)
    // One that is marked may be under way: marked once more, it would be searched for twice.
    for (const uuid of this.#parked) if (!this.#wanted.has(uuid)) this.want(uuid)
    this.#parked.clear()
    return this.#wanted.size > 0
  }

  wanted(): readonly string[] {
    return [...this.#wanted.keys()]
  }

  followed(): ReadonlySet<string> {
    return new Set(this.#entries.keys())
  }

  /** Whether a UUID is followed, and this VM is not among those that have it. */
  lacks(uuid: string, vm: string): boolean {
    return this.#entries.get(uuid)?.vms.includes(vm) === false
  }

  /** Whether this VM is to be read before the answer for the UUID, which is not complete, says anything without it. */
  awaits(uuid: string, vm: string): boolean {
    const entry = this.#entries.get(uuid)
    if (entry === undefined || entry.vms.includes(vm)) return false
    const awaits = entry.expected.awaits(vm)
    if (awaits) this.#want(uuid)
    return awaits
  }

  /** The VMs that are awaited with this UUID, or were: to be called when it is about to be searched for. */
  takeExpected(uuid: string): readonly string[] {
    return this.#entries.get(uuid)?.expected.take() ?? []
  }

  /** VMs that have this UUID, or had it when last seen. */
  vmsOf(uuid: string): readonly string[] {
    return this.#entries.get(uuid)?.vms ?? []
  }

  machine(vm: string): VMProperties | undefined {
    return this.#rows.get(vm)?.machine
  }

  machines(): VMProperties[] {
    return Array.from(this.#rows.values(), (row) => row.machine)
  }

  vms(): ReadonlySet<string> {
    return new Set(this.#rows.keys())
  }

  lookup(
    uuid: string,
  ):
    | { readonly state: 'pending' }
    | { readonly state: 'failed'; readonly error: VCenterError }
    | (Omit<Extract<Lookup, { readonly state: 'answered' }>, 'incomplete'> & Pick<VMAnswer, 'incomplete'>) {
    const entry = this.#entries.get(uuid)
    if (entry === undefined || entry.state === 'pending') return { state: 'pending' }
    if (entry.state !== 'answered') return { state: 'failed', error: entry.state.error }
    const { incomplete, lost } = entry
    const vms = entry.vms.flatMap((vm) => this.#rows.get(vm)?.view ?? [])
    const answer = { state: 'answered' as const, vms, ...(incomplete === undefined ? {} : { incomplete }) }
    if (vms.length > 0 || lost === undefined) return answer
    const { read, shownUntil } = lost
    return { ...answer, shownUntil, ...(read >= this.#ended ? { othersUnread: true } : {}) }
  }

  /** A read of all VMs begins. Returns its number, for {@link endRead}. */
  beginRead(): number {
    return ++this.#begun
  }

  /** Whether all that a read has put in doubt is answered, or nobody follows it any more. */
  isAnswered(doubted: Iterable<string>): boolean {
    for (const uuid of doubted) if (this.#entries.get(uuid)?.state === 'pending') return false
    return true
  }

  /** A read of all VMs has ended, and all that it has put in doubt is answered. */
  endRead(number: number): void {
    const before = this.#ended
    this.#ended = Math.max(before, number)
    const settled = [...this.#entries].filter(
      ([, { lost }]) => lost !== undefined && lost.read >= before && lost.read < this.#ended,
    )
    this.#notify(new Set(settled.map(([uuid]) => uuid)))
  }

  /** How often UUIDs were marked to be searched for so far; see {@link answer}. */
  wants(): number {
    return this.#wants
  }

  /**
   * Stores the answers for some UUIDs: their VMs, or an error. UUIDs that are no longer followed are ignored.
   *
   * @param asOf `wants()` before vCenter was asked: what was marked since then stays so, because the answer may be older
   */
  answer(answers: ReadonlyMap<string, VMAnswer | VCenterError>, asOf = this.#wants): void {
    const changed = new Set<string>()
    for (const [uuid, answer] of answers) {
      const entry = this.#entries.get(uuid)
      if (entry === undefined) continue
      if ((this.#wanted.get(uuid) ?? 0) <= asOf) this.#wanted.delete(uuid)
      const before = entry.state === 'answered' ? { vms: entry.vms, incomplete: entry.incomplete } : undefined
      entry.incomplete = answer instanceof VCenterError ? undefined : answer.incomplete
      if (answer instanceof VCenterError || answer.incomplete !== undefined) {
        this.#entries.delete(uuid)
        this.#entries.set(uuid, entry)
      }
      if (answer instanceof VCenterError) {
        entry.state = { error: answer }
        entry.shownUntil ??= this.#options.monotonic()
        changed.add(uuid)
        continue
      }
      const { incomplete } = answer
      if (entry.expected.settle()) changed.add(uuid)
      if (incomplete === undefined) entry.expected.forget()
      else if (entry.expected.areWanted()) this.#want(uuid)
      const vms = answer.vms.map((machine) => machine.moref).sort()
      const present = new Set(vms)
      for (const vm of entry.vms)
        if (!present.has(vm) && this.#rows.get(vm)?.uuid === uuid) this.#rows.delete(vm)
      for (const machine of answer.vms) if (this.#put(uuid, machine)) changed.add(uuid)
      if (vms.length === 0 && entry.vms.length > 0) {
        const { shownUntil = this.#options.monotonic() } = entry
        entry.lost = { read: this.#begun, shownUntil }
        this.#options.onLost?.()
      }
      entry.shownUntil = undefined
      entry.vms = vms
      entry.state = 'answered'
      if (!isDeepStrictEqual(before, { vms, incomplete })) changed.add(uuid)
    }
    this.#notify(changed)
  }

  /**
   * Updates VMs as vCenter now describes them. If a VM's UUID has changed, both UUIDs must be searched for again, and are in
   * doubt unless another VM has them: what is known of that one holds, however often this one changes.
   * A VM without a UUID (inaccessible) stays the VM it was.
   */
  update(machines: readonly VMProperties[]): Changes {
    const changed = new Set<string>()
    const doubted = new Set<string>()
    const vms: string[] = []
    for (const machine of machines) {
      const row = this.#rows.get(machine.moref)
      if (row === undefined) continue
      if (this.#put(row.uuid, machine)) {
        changed.add(row.uuid)
        vms.push(machine.moref)
      }
      if (machine.biosUUID === undefined || machine.biosUUID === row.uuid) continue
      for (const uuid of [row.uuid, machine.biosUUID]) {
        if (!this.#isHeld(uuid, machine.moref)) this.#doubt(uuid, doubted)
        else {
          this.want(uuid)
          doubted.add(uuid)
        }
      }
    }
    this.#notify(new Set([...changed, ...doubted]))
    return { vms, doubted: [...doubted] }
  }

  /** Marks VMs that vCenter no longer shows: their UUIDs must be searched for again. */
  leave(vms: readonly string[]): Changes {
    const doubted = new Set<string>()
    for (const vm of vms) {
      const row = this.#rows.get(vm)
      if (row !== undefined) this.#doubt(row.uuid, doubted)
    }
    this.#notify(doubted)
    return { vms: vms.filter((vm) => this.#rows.has(vm)), doubted: [...doubted] }
  }

  /** Reports these VMs as changed. */
  tell(vms: readonly string[]): void {
    this.#notify(new Set(vms.flatMap((vm) => this.#rows.get(vm)?.uuid ?? [])))
  }

  /** Rebuilds the views of these VMs, or of all, after ancestors or tags have changed. */
  refresh(vms: Iterable<string> = this.#rows.keys()): void {
    const changed = new Set<string>()
    for (const vm of vms) {
      const row = this.#rows.get(vm)
      if (row !== undefined && this.#put(row.uuid, row.machine)) changed.add(row.uuid)
    }
    this.#notify(changed)
  }

  /** Stores a VM; returns whether its view has changed. */
  #put(uuid: string, machine: VMProperties): boolean {
    const before = this.#rows.get(machine.moref)
    const view = this.#view(machine)
    // The new view even where it is equal: it shares its parts with the machine.
    this.#rows.set(machine.moref, { machine, uuid, view })
    return before?.uuid !== uuid || !isDeepStrictEqual(before.view, view)
  }

  #view(machine: VMProperties): VirtualMachine {
    const {
      host: _host,
      resourcePool: _pool,
      parent: _parent,
      vApp: _vApp,
      changeVersion: _version,
      placedOn: _placed,
      customValues: _values,
      ...facts
    } = machine
    const unreadable = unreadableFacts(machine.unreadable)
    const template = isTemplateStill(machine)
    return {
      vCenter: this.#options.vCenter(),
      ...facts,
      template,
      unreadable,
      ...this.#options.place(machine),
    }
  }

  /** Whether a VM other than this one has the UUID, as last told. */
  #isHeld(uuid: string, except: string): boolean {
    const vms = this.#entries.get(uuid)?.vms ?? []
    return vms.some((vm) => vm !== except && this.#rows.get(vm)?.machine.biosUUID === uuid)
  }

  #want(uuid: string): void {
    this.#wanted.set(uuid, ++this.#wants)
  }

  #doubt(uuid: string, doubted: Set<string>): void {
    if (!this.#entries.has(uuid)) return
    this.want(uuid, true)
    doubted.add(uuid)
  }

  #notify(changed: ReadonlySet<string>): void {
    if (changed.size > 0) this.#options.onChange(changed)
  }
}
