/** What may keep a leader from its work: a CPI beside it, reports that can be forged, and other troubles. */

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

/** Whether this controller may write to Nodes, as far as a vSphere CPI in the same cluster is concerned. */
export type InterlockState =
  | { readonly state: 'open' }
  /** Nodes are left to the CPI, or nobody can tell yet; the message says why, and what ends it. */
  | { readonly state: 'held'; readonly message: string }

/** Whether the API server was seen to refuse a report about a node other than its writer's own. */
export type PolicyState =
  /** Not answered yet. */
  | { readonly state: 'pending' }
  | { readonly state: 'in-force' }
  /** Reports may be forged, or nobody can tell; the message says which, and what to do. */
  | {
      readonly state: 'not-in-force'
      readonly message: string
      /** This account may not try it: it may not impersonate the agents' account. */
      readonly mayNotTry?: true
    }
