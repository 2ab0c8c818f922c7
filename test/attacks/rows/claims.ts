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
