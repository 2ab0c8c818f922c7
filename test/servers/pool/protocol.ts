import type { ClusterFiles } from '../cluster.ts'

/** The variable by which the tests of a run learn the lender's port on loopback. */
export const LENDER_PORT = 'ROLLCALL_CLUSTER_LENDER'

/** What who connects is answered, in one line: a cluster and a folder for files, or why there is none. */
export type Loan = { readonly files: ClusterFiles; readonly dir: string } | { readonly error: string }

/** What a borrower says before it hangs up. One that hangs up without is taken to have crashed. */
export const DONE = 'done'
