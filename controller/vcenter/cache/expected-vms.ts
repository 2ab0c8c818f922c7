/** VMs with one UUID that are to be read whether or not a search finds them, and how far that is. No I/O. */

type Progress = 'wanted' | 'being read' | 'read'

export class ExpectedVMs {
  readonly #vms = new Map<string, Progress>()

  /** Expects this VM; returns whether it is still to be read. */
  awaits(vm: string): boolean {
    const progress = this.#vms.get(vm) ?? 'wanted'
    this.#vms.set(vm, progress)
    return progress !== 'read'
  }

  /** All that were ever expected; to be called when a read begins. */
  take(): readonly string[] {
    for (const [vm, progress] of this.#vms) if (progress === 'wanted') this.#vms.set(vm, 'being read')
    return [...this.#vms.keys()]
  }

  /** The read has ended; returns whether anything was awaited of it. */
  settle(): boolean {
    const awaited = [...this.#vms].filter(([, progress]) => progress === 'being read')
    for (const [vm] of awaited) this.#vms.set(vm, 'read')
    return awaited.length > 0
  }

  /** Whether any was expected since the read began. */
  areWanted(): boolean {
    return [...this.#vms.values()].includes('wanted')
  }

  forget(): void {
    this.#vms.clear()
  }
}
