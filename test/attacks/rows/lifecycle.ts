import { NOTHING, type Row, theme } from './row.ts'

const BOTH = "worker-1's kubelet, worker-1's agent"
const OWN = `${NOTHING}: it is about the attacker's own Node alone`
const speaksFor = 'it speaks for Node "worker-1" and may write only the NodeReport of that name'
const notModify = 'is not allowed to modify node "worker-10"'

function row(
  credential: string,
  tried: string,
  refusedBy: Row['refusedBy'],
  seen: string,
  victim = NOTHING,
): Row {
  return { credential, tried, refusedBy, seen, victim }
}

const kubelet = "worker-1's kubelet"

/** A node that would keep what is gone, or have deleted what runs. */
export const lifecycle = theme('Keeping a Node that should go, or having one deleted that runs', {
  hold: row(
    kubelet,
    'the annotation rollcall.dev/deletion: hold on its own Node',
    'nobody needs to',
    'the annotation, on its own Node',
    OWN,
  ),
  proceed: row(
    kubelet,
    'the annotation rollcall.dev/deletion: proceed on its own Node, for which the brake is open from then on',
    'nobody needs to',
    'the annotation, on its own Node',
    OWN,
  ),
  "the victim's hold": row(
    kubelet,
    "either annotation on the victim's Node, or to take it away",
    'NodeRestriction',
    notModify,
  ),
  'by its agent': row(
    "worker-1's agent",
    "either annotation, on the victim's Node or on its own",
    'RBAC',
    'cannot patch resource "nodes',
  ),
  'a life sign of its own': row(
    BOTH,
    'an annotation rollcall.dev/reported-at of yesterday and tomorrow, again and again',
    'nobody needs to',
    'the annotation, on its own report',
    OWN,
  ),
  "the victim's life sign": row(
    BOTH,
    "the same on the victim's report, or to take it away",
    'policy own-report',
    speaksFor,
  ),
  'a life sign that is none': row(
    BOTH,
    'words, 200 KiB of them too, instead of the time',
    'policy own-report',
    'rollcall.dev/reported-at that is no time',
  ),
  'other annotations': row(
    BOTH,
    'labels and annotations besides, 10,000 of them too, in its own report, which whoever watches reports would get',
    'policy own-report',
    'with other finalizers, labels or annotations: leave them out',
  ),
  brake: row(
    BOTH,
    "write status.brakeClosedAt, its own or the victim's, to open the brake or to close it",
    'RBAC',
    'cannot patch resource "nodereports/status"',
  ),
  binding: row(
    BOTH,
    "write status.vm, its own or the victim's, so that a VM that is gone seems to be the victim's",
    'RBAC',
    'cannot patch resource "nodereports/status"',
  ),
  'beside the spec': row(
    BOTH,
    'both of its own, beside its spec',
    'API server',
    'the status stays as it was',
  ),
  readiness: row(
    kubelet,
    "call the victim's Node not ready, or its heartbeat old",
    'NodeRestriction',
    notModify,
  ),
  lease: row(
    kubelet,
    "let the victim's Lease in kube-node-lease run out, so that it is called not ready",
    'NodeRestriction',
    'can only access node lease with the same name as the requesting node',
  ),
  delete: row(
    BOTH,
    "delete the victim's Node, with and without its UID and version as preconditions",
    'RBAC',
    'cannot delete resource "nodes"',
  ),
})

const thief = (tried: string, seen: string) =>
  row("the controller's token", tried, 'policy delete-node', seen)

/** Who has the controller's token may delete Nodes; this is what keeps most of them. */
export const deletion = theme("Deleting Nodes with the controller's token", {
  ready: thief("delete the victim's Node, which is ready", 'which is Ready: its kubelet runs'),
  'made unready': thief(
    'call it not ready first, in its status',
    'with other conditions or another annotation rollcall.dev/deletion',
  ),
  held: thief(
    "delete worker-1's Node, which is not ready but held by a person",
    'which its annotation rollcall.dev/deletion holds',
  ),
  'hold taken away': thief(
    'take the annotation away first, or let it say proceed',
    'with other conditions or another annotation rollcall.dev/deletion',
  ),
  blindly: thief(
    "delete the victim's Node without the UID and version of what was judged",
    'without its UID and resourceVersion as preconditions',
  ),
  "another provider's": thief(
    'delete a Node of another provider',
    'whose provider ID does not begin with vsphere://',
  ),
  'all at once': row(
    "the controller's token",
    'delete the collection of Nodes',
    'RBAC',
    'cannot deletecollection resource "nodes"',
  ),
})
