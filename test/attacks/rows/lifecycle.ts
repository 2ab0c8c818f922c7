import { type AttackRow, NOTHING, theme } from './row.ts'

const BOTH = "worker-1's kubelet or agent"
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

const kubelet = "worker-1's kubelet"

const ofItsOwn = (credential: string, tried: string, seen: string) =>
  row(credential, tried, 'nobody needs to', seen, NOTHING)
const noStatus = (tried: string) => row(BOTH, tried, 'RBAC', 'cannot patch resource "nodereports/status"')
const notModified = (tried: string) =>
  row(kubelet, tried, 'NodeRestriction', 'is not allowed to modify node "worker-10"')

/** A node that would keep what is gone, or have deleted what runs. */
export const lifecycle = theme('Keeping a Node that should go, or having one deleted that runs', {
  hold: ofItsOwn(
    kubelet,
    'the annotation rollcall.dev/deletion: hold on its own Node',
    'the annotation, on its own Node',
  ),
  proceed: ofItsOwn(
    kubelet,
    'the annotation rollcall.dev/deletion: proceed on its own Node',
    'the annotation, on its own Node',
  ),
  "the victim's hold": notModified("set either annotation on the victim's Node, or remove it"),
  'by its agent': row(
    "worker-1's agent",
    "either annotation, on the victim's Node or on its own",
    'RBAC',
    'cannot patch resource "nodes',
  ),
  'a life sign of its own': ofItsOwn(
    BOTH,
    'an annotation rollcall.dev/reported-at of yesterday and tomorrow, again and again',
    'the annotation, on its own report',
  ),
  "the victim's life sign": row(
    BOTH,
    "the same on the victim's report, or removing it",
    'policy own-report',
    speaksFor,
  ),
  brake: noStatus('write status.brakeEngagedAt, to release the brake or to engage it'),
  binding: noStatus("write status.vm, so that a VM that is gone seems to be the victim's"),
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
  'made unready': thief(
    'call it not ready first, in its status',
    'policy update-node',
    'with another status.conditions',
  ),
  'what others apply': thief(
    "change what others have in the victim's managedFields",
    'policy update-node',
    'with another metadata.managedFields',
  ),
  'which VM it is': thief(
    "the annotation rollcall.dev/vm on the victim's Node",
    'policy update-node',
    'with annotations that are not its own: rollcall.dev/vm',
  ),
  'all at once': thief('delete the collection of Nodes', 'RBAC', 'cannot deletecollection resource "nodes"'),
})
