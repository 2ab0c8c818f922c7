import { type AttackRow, NOTHING, theme } from './row.ts'

const row = (tried: string, refusedBy: AttackRow['refusedBy'], seen: string): AttackRow => ({
  credential: 'kubelet',
  tried,
  refusedBy,
  seen,
  victim: NOTHING,
})

/** What a worker that has just joined, and that nobody has verified, could do to come by what the controller has. */
export const joining = theme("Obtaining the controller's Secret or token", {
  secret: row(
    'get the Secret rollcall-config',
    'Node authorizer',
    "no relationship found between node 'worker-1' and this object",
  ),
  secrets: row('list or watch that Secret, or all of kube-system', 'RBAC', 'resource "secrets"'),
  token: row(
    "ask for a token of the controller's account, bound to its Pod",
    'Node authorizer',
    "no relationship found between node 'worker-1' and this object",
  ),
  'a label at registration': row(
    "register with the label that the controller's Pod requires",
    'NodeRestriction',
    'is not allowed to set the following labels: ',
  ),
  'a label afterwards': row(
    'set that label afterwards',
    'NodeRestriction',
    'is not allowed to modify labels: ',
  ),
  binding: row('bind the waiting Pod to its own Node', 'RBAC', 'cannot create resource "pods/binding"'),
  'a mirror Pod': row(
    "create a mirror Pod of the controller's account",
    'NodeRestriction',
    'can not create pods that reference serviceaccounts',
  ),
  'a mirror Pod with the Secret': row(
    'or one that mounts the Secret',
    'NodeRestriction',
    'can not create pods that reference secrets',
  ),
  'no room elsewhere': row(
    "delete or evict the controller's Pod",
    'NodeRestriction',
    'can only delete pods with spec.nodeName set to itself',
  ),
})
