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
