/** One attack, as the suite runs it and as docs/attacks.md tells it. */
export interface AttackRow {
  /** What the attacker holds. */
  readonly credential: string
  readonly tried: string
  readonly refusedBy: Refuser
  /** What an operator, or the agent's log, gets to see: a reason of the controller's, or a part of the API's answer. */
  readonly seen: string
  /** What happens to the victim. */
  readonly victim: string
  /** Why it is not refused as the row says, for now. */
  readonly open?: string
  /** The test elsewhere that tries it, in a world of its own; in all rows of a theme, or in none. */
  readonly triedBy?: TriedBy
}

export interface TriedBy {
  /** From the root of the repository. */
  readonly file: string
  /** Its name, or the part of it that is written out there. */
  readonly test: string
}

/** Who stands in the way. */
export type Refuser =
  | 'authentication'
  | 'RBAC'
  | 'NodeRestriction'
  | 'CertificateApproval'
  | 'Node authorizer'
  | 'policy own-report'
  | 'policy restore-labels'
  | 'policy delete-node'
  | 'policy update-node'
  | 'policy approve-certificate'
  | 'schema'
  | 'API server'
  | 'controller'
  | 'nobody needs to'

/** Attacks of one kind, under the name by which the suite has them. */
export interface Theme<Name extends string = string> {
  readonly title: string
  readonly rows: Readonly<Record<Name, AttackRow>>
}

export const NOTHING = 'nothing'

/** Keeps the names, so that the compiler sees to it that each row has its attempt. */
export function theme<Name extends string>(
  title: string,
  rows: Readonly<Record<Name, AttackRow>>,
): Theme<Name> {
  return { title, rows }
}
