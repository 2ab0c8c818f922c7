/** Whether this controller may write to Nodes, as far as a vSphere CPI in the same cluster is concerned. */
export type InterlockState =
  | { readonly state: 'open' }
  /** Nodes are left to the CPI, or nobody can tell yet; the message says why, and what ends it. */
  | { readonly state: 'held'; readonly message: string }
