import { type AttackRow, NOTHING, theme } from './row.ts'

function row(credential: string, tried: string, seen: string, victim = NOTHING): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen, victim }
}

const USER = 'a user of the guest'
const OWN = 'reported until it claims again'

/** Over the claim of its own Node. */
const own = (tried: string, seen: string) => row(USER, tried, seen, OWN)

/** Any root process in a VM can write its guestinfo. */
export const claims = theme("Claims that something other than a VM's agent writes into it", {
  'of a proven Node': row(USER, "the victim's claim, proven elsewhere", 'ClaimCopied'),
  'of a Node to come': row(
    USER,
    "the victim's claim, not verified yet",
    'ClaimOfOtherNode',
    'becomes proven, the other stays reported',
  ),
  'of nobody': own('a claim of no Node', 'ClaimOfFormerNode'),
  'of another boot': own('its own claim of another boot', 'ClaimOfEarlierBoot'),
  garbage: own('text that is not a claim', 'ClaimMalformed'),
  '60 kB': own('the same, of 60 kB', 'ClaimMalformed'),
  'control characters': own('control characters around a claim', 'ClaimMalformed'),
  'version 3': own('its own claim in an unknown version', 'ClaimMalformed'),
  'no nonce': own('the same in version 2, without a nonce', 'ClaimMalformed'),
  'short nonce': own('the same with a nonce of 31 digits', 'ClaimMalformed'),
  'upper case': own('the same with nonce, boot ID and UID in upper case', 'ClaimMalformed'),
  'a word more': own('the same with a word more', 'ClaimMalformed'),
  'of this boot': own('its own claim of version 1, over the one with a nonce', 'ClaimOfOlderAgent'),
  'over a proof': row(USER, "the victim's claim, over its own", 'ProvenBefore', NOTHING),
  'without end': row(USER, 'its own claim and another in turn, 200 times', 'Proven', NOTHING),
  'a clone': row('whoever may clone VMs', "a clone of the victim's VM, with its claim, joins", 'ClaimCopied'),
  'a copy': row(
    'whoever may copy VMX files',
    "a copy of the victim's VM, with UUID and claim, joins",
    'AmbiguousUUID',
  ),
  foothold: row(
    "another node's kubelet, and a container in the victim's VM",
    'the container claims that VM for the other Node, which reports it',
    'VMHasAnotherNode',
    'stays proven, its agent claims again',
  ),
})

function says(tried: string, seen: string, victim = 'is only reported'): AttackRow {
  return { credential: 'kubelet or agent', tried, refusedBy: 'controller', seen, victim }
}

function refused(tried: string, refusedBy: AttackRow['refusedBy'], seen: string): AttackRow {
  return { ...says(tried, seen, NOTHING), refusedBy }
}

/** It is itself, and may say so. */
const itself = (tried: string): AttackRow => ({
  ...says(tried, 'Proven', NOTHING),
  refusedBy: 'nobody needs to',
})

const noStatus = (tried: string) => refused(tried, 'RBAC', 'cannot patch resource "nodereports/status"')

/** What a node's report has of its claim, and what its status has of it. */
export const digests = theme('Lies about its own claim', {
  'no digest': says('no digest, for a claim with a nonce', 'ClaimNotInReport'),
  'another digest': says('the digest of another claim', 'ClaimOfEarlierBoot'),
  "the victim's digest": says("the digest in the victim's report", 'ClaimOfEarlierBoot'),
  'digest of version 1': says('the digest of its claim of version 1', 'ClaimOfOlderAgent'),
  'no boot, version 1': says('no boot ID, with a claim of version 1 for none', 'ClaimOfEarlierBoot'),
  'another boot, version 1': says('another boot ID than its claim of version 1', 'ClaimOfEarlierBoot'),
  'no boot': itself('no boot ID, with a nonce claim for none'),
  'not written': itself('its digest, and that its claim is not written'),
  'digest in upper case': refused('a digest in upper case', 'schema', 'spec.claim.digest'),
  'short digest': refused('the same of 63 digits', 'schema', 'spec.claim.digest'),
  'long digest': refused('the same of a megabyte', 'schema', 'spec.claim.digest'),
  'digest of a list': refused('a list of digests', 'API server', 'spec.claim.digest'),
  'last claim': noStatus('status.lastClaim: empty, or its own choice'),
  'former VMs': noStatus("status.formerVMs: none, or the victim's VM"),
  'proven until': noStatus('status.provenUntil in a hundred years'),
  'beside the spec': refused(
    'any of these status fields beside its own spec',
    'API server',
    'the status stays as it was',
  ),
})
