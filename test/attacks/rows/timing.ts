import { type AttackRow, theme } from './row.ts'

const FORMER = 'its former Node'
const BECOMES = 'becomes proven'

function row(
  credential: string,
  tried: string,
  refusedBy: AttackRow['refusedBy'],
  seen: string,
  victim = BECOMES,
): AttackRow {
  return { credential, tried, refusedBy, seen, victim }
}

/** Reports of another time: a Node is known by its UID, which the API server chooses anew at each registration. */
export const replays = theme('Reports of another time', {
  'old token, Pod collected': row(
    `${FORMER}: token of the agent's deleted Pod`,
    'its old report',
    'authentication',
    'Unauthorized',
  ),
  'old token, new body': row(
    `${FORMER}: token of the agent's Pod`,
    "a report on the Node's new UID",
    'policy own-report',
    'to which its token is bound; if the Node was registered anew, restart the Pod for a new token',
  ),
  'new token, old body': row(
    "the agent's present token",
    'the old report',
    'policy own-report',
    'to which its token is bound',
  ),
  'old token, old body': row(
    `${FORMER}: token of the agent's Pod`,
    'its old report',
    'controller',
    'ReportOfFormerNode',
  ),
  'old certificate, old body': row(
    `${FORMER}: kubelet's certificate`,
    'its old report, once the new Node is proven',
    'controller',
    'ReportOfFormerNode',
    'stays proven',
  ),
  'old claim': row(
    "the victim's VM itself",
    "the former Node's claim, still in guestinfo",
    'controller',
    'ClaimOfFormerNode',
    'reported until it claims again',
  ),
  'Node to come': row(
    'kubelet whose Node is not registered yet',
    'a report on a made-up UID',
    'controller',
    'ReportOfFormerNode',
    'waits for a report on its own UID',
  ),
  "another's Node to come": row(
    'kubelet',
    'a report for a Node not registered yet',
    'policy own-report',
    'it speaks for Node "worker-1" and may write only the NodeReport of that name',
  ),
})

const first = (tried: string, seen: string, victim?: string) =>
  row("another node's kubelet", tried, 'controller', seen, victim)

/** Two Nodes, one VM. */
export const races = theme('Being first', {
  'neither has a claim': first(
    'facts of a VM, together with its Node, which cannot claim',
    'VMHasAnotherNode',
    'waits, unless it was verified first',
  ),
  'the victim has a claim': first('facts of a VM that shows its claim', 'ClaimedByAnotherNode'),
  'the Node is not heard yet': first('facts of a VM whose Node has no report yet', 'VMHasAnotherNode'),
  'the forger is first': first(
    'facts of a VM without a Node yet: becomes that VM, as reported',
    'ClaimedByAnotherNode',
    'becomes proven once it claims; the forger loses its level',
  ),
  'the forger is first, without MACs': first(
    'the UUID alone of a VM whose Node cannot claim',
    'MACsContradict',
    'becomes reported',
  ),
  'a provider ID is first': first("the victim's provider ID at registration, and no report", 'NoReport'),
  'a provider ID is first, no claim': first(
    "the victim's provider ID, if it cannot claim",
    'VMHasAnotherNode',
    'waits until the other Node is deleted',
  ),
  'without rest': first(
    "its own facts and the victim's in turn, 200 times",
    'ProviderIDOfAnotherVM',
    'becomes proven within seconds',
  ),
})
