/** Something that keeps a leader from working as it should, or that people should know of it. */
export interface Trouble {
  /** Equal for the same trouble, whatever is said of it. */
  readonly key: string
  /** One line without users and addresses: anyone can read it at `/readyz`. */
  readonly text: string
  /** The same with particulars, for those who may read the Lease. */
  readonly message: string
  /** What the leader does not follow meanwhile: the Nodes of one vCenter, by its name, or all. Absent where it goes on. */
  readonly stops?: { readonly vCenter: string } | 'all'
  /** The key of another trouble that need not be told beside this one. */
  readonly covers?: string
}

/** One of which there is no more to say than anyone may read. */
export function troubleOf(text: string): Trouble {
  return { key: text, text, message: text }
}

/** For comparing two messages that may differ only in times, ports or counts. */
export function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '0')
}
