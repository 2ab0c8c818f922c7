import { type AttackRow, NOTHING, theme } from './row.ts'

const BOTH = 'kubelet or agent'
const speaksFor = 'it speaks for Node "worker-1" and may write only the NodeReport of that name'

function row(
  credential: string,
  tried: string,
  refusedBy: AttackRow['refusedBy'],
  seen: string,
  victim = NOTHING,
): AttackRow {
  return { credential, tried, refusedBy, seen, victim }
}

const kubelet = 'kubelet'

const ofItsOwn = (credential: string, tried: string, seen: string) =>
  row(credential, tried, 'nobody needs to', seen, NOTHING)
const noStatus = (tried: string) => row(BOTH, tried, 'RBAC', 'cannot patch resource "nodereports/status"')
const notModified = (tried: string) =>
  row(kubelet, tried, 'NodeRestriction', 'is not allowed to modify node "worker-10"')

/** A node that would keep what is gone, or have deleted what runs. */
export const lifecycle = theme('Keeping a Node that should go, or having one deleted that runs', {
  hold: ofItsOwn(kubelet, 'rollcall.dev/deletion: hold on its own Node', 'the annotation, on its own Node'),
  proceed: ofItsOwn(kubelet, 'or proceed', 'the annotation, on its own Node'),
  "the victim's hold": notModified("rollcall.dev/deletion on the victim's Node, or its removal"),
  'by its agent': row(
    'agent',
    "rollcall.dev/deletion on the victim's Node or its own",
    'RBAC',
    'cannot patch resource "nodes',
  ),
  'a life sign of its own': ofItsOwn(
    BOTH,
    'rollcall.dev/reported-at of yesterday and tomorrow in turn',
    'the annotation, on its own report',
  ),
  "the victim's life sign": row(
    BOTH,
    "rollcall.dev/reported-at on the victim's report, or its removal",
    'policy own-report',
    speaksFor,
  ),
  brake: noStatus('status.brakeEngagedAt, to release or engage the brake'),
  binding: noStatus("status.vm, so that a VM that is gone seems the victim's"),
  readiness: notModified("call the victim's Node not ready, or its heartbeat old"),
  lease: row(
    kubelet,
    "let the victim's Lease in kube-node-lease expire",
    'NodeRestriction',
    'can only access node lease with the same name as the requesting node',
  ),
  delete: row(BOTH, "delete the victim's Node", 'RBAC', 'cannot delete resource "nodes"'),
})

const thief = (tried: string, refusedBy: AttackRow['refusedBy'], seen: string) =>
  row("the controller's token", tried, refusedBy, seen)

/** Who has the controller's token may delete Nodes and change some of what they say; this is what keeps most of it. */
export const deletion = theme("Deleting and changing Nodes with the controller's token", {
  ready: thief(
    "delete the victim's Node, which is ready",
    'policy delete-node',
    'which is Ready: its kubelet runs',
  ),
  'made unready': thief('call it not ready first', 'policy update-node', 'with another status.conditions'),
  'what others apply': thief(
    "change others' entries in the victim's managedFields",
    'policy update-node',
    'with another metadata.managedFields',
  ),
  'which VM it is': thief(
    "rollcall.dev/vm on the victim's Node",
    'policy update-node',
    'with annotations that are not its own: rollcall.dev/vm',
  ),
  'all at once': thief('delete the collection of Nodes', 'RBAC', 'cannot deletecollection resource "nodes"'),
})
