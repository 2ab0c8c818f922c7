import { type AttackRow, NOTHING, theme } from './row.ts'

function row(credential: string, tried: string, seen: string, victim = NOTHING): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen, victim }
}

const USER = 'any user of the guest, a container too'
const OWN = `${NOTHING}: the Node is only reported until its agent claims again`

/** Any root process in a VM can write its guestinfo. */
export const claims = theme("Claims that something other than a VM's agent writes into it", {
  'of a proven Node': row(USER, "the claim of the victim's Node, which is proven elsewhere", 'ClaimCopied'),
  'of a Node to come': row(
    USER,
    "the claim of the victim's Node, which nobody has verified yet",
    'ClaimOfOtherNode',
    'becomes proven; the other Node stays reported',
  ),
  'of nobody': row(USER, 'a claim of no Node', 'ClaimOfFormerNode', OWN),
  'of another boot': row(USER, 'the claim of its own Node and another boot', 'ClaimOfEarlierBoot', OWN),
  garbage: row(USER, 'text that is not a claim', 'ClaimMalformed', OWN),
  '60 kB': row(USER, '60 kB of text', 'ClaimMalformed', OWN),
  'control characters': row(
    USER,
    'control characters, escapes and line ends around a claim',
    'ClaimMalformed',
    OWN,
  ),
  'version 3': row(USER, 'the claim of its own Node in a version that nobody knows', 'ClaimMalformed', OWN),
  'no nonce': row(USER, 'the same in version 2, without a nonce', 'ClaimMalformed', OWN),
  'short nonce': row(USER, 'the same with a nonce of 31 digits', 'ClaimMalformed', OWN),
  'upper case': row(USER, 'the same with nonce, boot ID and UID in upper case', 'ClaimMalformed', OWN),
  'a word more': row(USER, 'the same with a word more', 'ClaimMalformed', OWN),
  'of this boot': row(
    USER,
    'a claim of version 1 with its own UID and boot ID, over the one with a nonce',
    'ClaimOfOlderAgent',
    OWN,
  ),
  'over a proof': row(
    USER,
    "the claim of the victim's Node, over that of its own Node, which is proven",
    'ProvenBefore',
    `${NOTHING}; nor to its own Node, which keeps its level for a quarter of an hour`,
  ),
  'without end': row(
    USER,
    'its own claim and another in turn, 200 times',
    'Proven',
    `${NOTHING}; its own Node is what the last claim says`,
  ),
  'a clone': row(
    'anybody who may clone VMs in vCenter',
    "a clone of the victim's VM, claim included, under a UUID of its own, joins as a Node",
    'ClaimCopied',
  ),
  'a copy': row(
    'anybody who may copy VMX files',
    "a copy of the victim's VM, UUID and claim included, joins as a Node",
    'AmbiguousUUID',
  ),
  foothold: row(
    "another node's kubelet, and a container in the victim's VM",
    "that container claims the victim's VM for the other Node, which reports its UUID and MACs",
    'VMHasAnotherNode',
    'keeps running, and stays proven for a quarter of an hour; its agent claims again',
  ),
})

function says(tried: string, seen: string, victim = `${NOTHING}: the Node is only reported`): AttackRow {
  return { credential: "worker-1's kubelet, worker-1's agent", tried, refusedBy: 'controller', seen, victim }
}

function refused(tried: string, refusedBy: AttackRow['refusedBy'], seen: string): AttackRow {
  return { ...says(tried, seen, NOTHING), refusedBy }
}

/** What a node's report has of its claim, and what its status has of it. */
export const digests = theme('Lies about its own claim', {
  'no digest': says('no digest, while its VM shows a claim with a nonce', 'ClaimNotInReport'),
  'another digest': says('the digest of another claim', 'ClaimOfEarlierBoot'),
  "the victim's digest": says("the digest that stands in the victim's report", 'ClaimOfEarlierBoot'),
  'digest of version 1': says('the digest of a claim of version 1, which its VM shows', 'ClaimOfOlderAgent'),
  'no boot, version 1': says(
    'no boot ID, while its VM shows a claim of version 1 for none',
    'ClaimOfEarlierBoot',
  ),
  'another boot, version 1': says(
    'another boot ID than the claim of version 1 that its VM shows',
    'ClaimOfEarlierBoot',
  ),
  'no boot': {
    ...says('no boot ID, and a claim with a nonce for none', 'Proven', `${NOTHING}: it is itself`),
    refusedBy: 'nobody needs to',
  },
  'not written': {
    ...says(
      'that its claim could not be written, and the digest of what stands there',
      'Proven',
      `${NOTHING}: it is itself`,
    ),
    refusedBy: 'nobody needs to',
  },
  'digest in upper case': refused('a digest in upper case', 'schema', 'spec.claim.digest'),
  'short digest': refused('a digest of 63 digits', 'schema', 'spec.claim.digest'),
  'long digest': refused('a digest of a megabyte', 'schema', 'spec.claim.digest'),
  'digest of a list': refused('a list of digests', 'API server', 'spec.claim.digest'),
  'last claim': refused(
    'status.lastClaim: empty, or a digest of its own choice',
    'RBAC',
    'cannot patch resource "nodereports/status"',
  ),
  'former VMs': refused(
    "status.formerVMs: none, or the victim's VM",
    'RBAC',
    'cannot patch resource "nodereports/status"',
  ),
  'proven until': refused(
    'status.provenUntil in a hundred years',
    'RBAC',
    'cannot patch resource "nodereports/status"',
  ),
  'beside the spec': refused('all of these beside its own spec', 'API server', 'the status stays as it was'),
})
