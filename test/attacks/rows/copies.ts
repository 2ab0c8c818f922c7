import { type AttackRow, NOTHING, theme } from './row.ts'

const TENANT = 'a tenant'
const READER = 'a tenant who may also read'
const ADMIN = 'an administrator of vCenter'

function told(tried: string, { credential = TENANT, victim = NOTHING } = {}): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen: 'CopyFound', victim }
}

/** Nothing is seen, as it is no rival. */
function ignored(tried: string): AttackRow {
  return { credential: TENANT, tried, refusedBy: 'nobody needs to', seen: 'VMFound', victim: NOTHING }
}

const TAINTED = 'gets its shutdown taint, and stays the VM that it is'
const KEEPS = 'keeps its level for a quarter of an hour, as after any boot'

/** The attacker's VM is a copy of the victim's, whose Node is verified. All rows have its BIOS UUID; most its MACs. */
export const copies = theme('Passing for the VM of a verified Node', {
  'reported: UUID': told('the BIOS UUID of a VM whose Node is reported'),
  'reported: MACs': told('the same, with its MAC addresses'),
  'reported: made-up claim': told(
    "the same, and a claim of the Node's UID and boot ID, which everybody may read",
  ),
  'reported: guessed nonce': told('the same, and a claim with a nonce that is guessed'),
  'reported: garbage': told('the same, and 60 kB of text for a claim'),
  'reported: off and on': told('the same, off and on again'),

  'proven: made-up claim': told("UUID, MACs and a claim of the Node's UID and boot ID; the victim is proven"),
  'proven: guessed nonce': told('the same, and a claim with a nonce that is guessed'),
  'proven: own claim': told("the same, and the victim's own claim", { credential: READER }),
  'proven: instance UUID': told("the same, and the victim's instance UUID", { credential: ADMIN }),
  'proven: to and fro': told("the victim's UUID and its own in turn, 40 times"),
  'proven: bigger': told('other CPUs, memory and guest ID, which would be another instance type'),
  'proven: moves': told('a move to another zone, with topology.onChange: relabel'),
  'proven: vMotion': told("the victim's claim while the victim is moved to another host", {
    credential: READER,
  }),
  'proven: renamed': told(
    'a name for its VM with control characters that turn the direction of writing around',
  ),
  'proven: unregistered': told('to leave the inventory, and to come back under another reference'),

  'boot: made-up claim': told('a claim of the new boot, before the victim shows its own', { victim: KEEPS }),
  'boot: guessed nonce': told('the same with a guessed nonce', { victim: KEEPS }),
  'boot: earlier claim': told("the victim's claim of the boot before", { credential: READER, victim: KEEPS }),
  'boot: new claim first': told("the victim's new claim, before vCenter shows it on the victim", {
    credential: READER,
    victim: KEEPS,
  }),
  'boot: new claim too': told('the same, once vCenter shows it on both', { credential: READER }),
  'boot: late report': told("the victim's next claim on both, before the report that speaks of it", {
    credential: READER,
    victim: KEEPS,
  }),

  'off: runs': told('to run while the victim is off', { victim: TAINTED }),
  'off: made-up claim': told('the same, and a claim of UID and boot ID'),
  'off: guessed nonce': told('the same, and a claim with a guessed nonce'),
  'off: own claim': told("the same, and the victim's last claim", { credential: READER }),
  'off: instance UUID': told("the same, and the victim's instance UUID", { credential: ADMIN }),
  'off: leader': told('the same, while another replica becomes the leader', { credential: READER }),
  'back on': told("the victim's last claim when the victim runs again", {
    credential: READER,
    victim: 'loses its shutdown taint',
  }),
  'suspended: own claim': told("the victim's last claim while the victim is suspended", {
    credential: READER,
    victim: TAINTED,
  }),
  'disconnected: own claim': told("the victim's last claim while the victim's host does not answer", {
    credential: READER,
  }),
  'disconnected: made-up claim': told('the same with a claim of UID and boot ID'),

  'own power': ignored('to switch its VM off: the taint follows the victim alone'),
  'own suspension': ignored('to suspend its VM'),
  'own orphan': ignored('to have its VM orphaned'),
  'own invalid': ignored('to have its VM invalid'),
  'own template': ignored('to make its VM a template'),

  'running: leader': told('to wait, with claim and all, until another replica becomes the leader', {
    credential: READER,
  }),
  'many copies': told('a dozen copies: the condition names four, the metric all'),
  'another victim': told('to be a copy of another VM from then on: both Nodes are told'),
  destroyed: ignored('to destroy its VM while the victim runs and its kubelet is silent'),
})

function kept(tried: string, seen: string, credential = TENANT, victim = 'its Node is kept'): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen, victim }
}

/** The victim's VM is out of sight, and the attacker's is the only one that a search finds. */
export const absentees = theme('Passing for a VM that vCenter does not show just now', {
  unregistered: kept(
    "UUID, MACs and the victim's claim while the victim is out of the inventory",
    'UUIDOfAnotherVM',
    READER,
    NOTHING,
  ),
  'unregistered: made-up claim': kept(
    'the same with a claim of UID and boot ID',
    'UUIDOfAnotherVM',
    TENANT,
    NOTHING,
  ),
  'unregistered: leader': kept(
    'the same, while another replica becomes the leader',
    'UUIDOfAnotherVM',
    TENANT,
    NOTHING,
  ),
  'unregistered: for long': kept(
    'the same for longer than lifecycle.absentFor, while the machine of the victim runs and reports',
    'UUIDOfAnotherVM',
    TENANT,
    'is bound again, under its new reference, once it is registered',
  ),
  inaccessible: kept(
    "the victim's claim while the victim's datastore is away",
    'VMNotConnected',
    READER,
    NOTHING,
  ),
  'inaccessible: leader': kept(
    'the same, while another replica becomes the leader',
    'VMNotSearchable',
    READER,
    NOTHING,
  ),
  'inaccessible: new boot': kept(
    "a claim of UID and boot ID when the victim's agent reports a new boot, its datastore still away",
    'VMNotSearchable',
    TENANT,
    NOTHING,
  ),
  'inaccessible: guessed nonce': kept('the same with a guessed nonce', 'VMNotSearchable', TENANT, NOTHING),
  'inaccessible: destroyed': kept(
    "to destroy its VM while the victim's datastore is away and its kubelet silent, with a change of leader",
    'VMExists',
  ),
  'gone: kept': kept(
    "to keep its VM when the victim's is destroyed: whatever has its UUID may be the machine",
    'UUIDOfAnotherVM',
    TENANT,
    'its Node is deleted once the copy is gone',
  ),
  'failed over: former VM': kept(
    'to destroy the VM to which a machine failed over, while its former VM exists',
    'UUIDOfAnotherVM',
    'anybody who may destroy that VM',
  ),
})
