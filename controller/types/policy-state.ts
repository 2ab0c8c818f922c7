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
