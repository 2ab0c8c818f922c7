import { type AttackRow, NOTHING, theme } from './row.ts'

const namesNoNode = 'its token names no node; use a token that is bound to a Pod on the node'

const SPEAKS_FOR = 'it speaks for Node "worker-1" and may write only the NodeReport of that name'

function row(credential: string, refusedBy: AttackRow['refusedBy'], seen: string, tried = WRITE): AttackRow {
  return { credential, tried, refusedBy, seen, victim: NOTHING }
}

const WRITE = "write the victim's report"
const unauthorized = (credential: string) => row(credential, 'authentication', 'Unauthorized')
/** It may write reports, and not this one. */
const notItsOwn = (credential: string, seen = namesNoNode) => row(credential, 'policy own-report', seen)
const noRight = (credential: string) => row(credential, 'RBAC', 'resource "nodereports"')

/** Credentials that are not those of the victim's agent. */
export const credentials = theme('Credentials that are not those of its agent', {
  'bound to nothing': notItsOwn("agent account's token, bound to nothing"),
  'bound to a Secret': notItsOwn('bound to a Secret'),
  'bound to a Pod without a node': notItsOwn('bound to a Pod without a node'),
  'bound to a Pod elsewhere': notItsOwn('bound to a Pod on another node', SPEAKS_FOR),
  'another account': noRight("another account's token, bound to a Pod on the victim's node"),
  'another namespace': noRight('token of a rollcall-agent in another namespace'),
  'the controller': noRight("the controller's token"),
  audience: unauthorized("the victim's agent's token, for another audience"),
  expired: unauthorized('expired'),
  'not yet valid': unauthorized('of tomorrow'),
  'Pod deleted': unauthorized('of a deleted Pod'),
  'Pod made anew': unauthorized('of a deleted Pod that was made anew'),
  'another key': unauthorized('signed by the attacker'),
  unsigned: unauthorized('unsigned'),
  tampered: unauthorized("worker-1's token, with another node's name"),
  impersonation: row(
    'kubelet or agent',
    'RBAC',
    'cannot impersonate',
    `${WRITE} by impersonating its kubelet or agent`,
  ),
  'proxy headers': row(
    'kubelet',
    'policy own-report',
    SPEAKS_FOR,
    `${WRITE} with an authenticating proxy's headers (X-Remote-User)`,
  ),
  'foreign name': notItsOwn('certificate in system:nodes of system:node:worker-1', SPEAKS_FOR),
  'without the group': noRight('certificate system:node:worker-10 in no group'),
  'a node without a name': row(
    'certificate system:node: in system:nodes',
    'NodeRestriction',
    'could not determine node from user "system:node:"',
  ),
  'upper case': notItsOwn('of system:node:WORKER-10', 'it speaks for Node "WORKER-10"'),
  'a space': notItsOwn('of "system:node:worker-10 "', 'it speaks for Node "worker-10 "'),
  "another cluster's": unauthorized("a node's certificate by another cluster's CA"),
  nobody: row('none', 'RBAC', 'User "system:anonymous" cannot patch'),
})

const askForToken = "ask for a token of the agent's account"

const byKubelet = (tried: string, seen: string) => row('kubelet', 'NodeRestriction', seen, tried)

/** What a node could do to come by a credential of the victim's. */
export const minting = theme('Obtaining such a credential', {
  'token bound to the Pod': byKubelet(
    `${askForToken}, bound to its Pod on the victim's node`,
    'bound to a pod scheduled on a different node',
  ),
  'token bound to the Node': byKubelet(
    "bound to the victim's Node",
    'node requested token not bound to a pod',
  ),
  'token bound to nothing': byKubelet('bound to nothing', 'node requested token not bound to a pod'),
  'token by token': row('agent', 'RBAC', 'cannot create resource "serviceaccounts/token"', askForToken),
  'a Pod over there': byKubelet(
    "create a Pod of the agent's account on the victim's node",
    'can only create pods with spec.nodeName set to itself',
  ),
  'a Pod of its own': byKubelet('one on its own node', 'can not create pods that reference'),
  certificate: byKubelet(
    "ask for a certificate of the victim's kubelet",
    'can only create a node CSR with CN=system:node:worker-1',
  ),
})
