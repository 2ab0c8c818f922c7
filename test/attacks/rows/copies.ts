import { type AttackRow, NOTHING, theme } from './row.ts'

const TENANT = 'a tenant'
const READER = 'a reader'
const ADMIN = 'an administrator of vCenter'

function told(tried: string, { credential = TENANT, victim = NOTHING } = {}): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen: 'CopyFound', victim }
}

/** Nothing is seen, as it is no rival. */
function ignored(tried: string): AttackRow {
  return { credential: TENANT, tried, refusedBy: 'nobody needs to', seen: 'VMFound', victim: NOTHING }
}

const TAINTED = 'gets its shutdown taint'
const KEEPS = 'keeps its level, as after any boot'

/** The attacker's VM is a copy of the victim's, whose Node is verified. All rows have its BIOS UUID; most its MACs. */
export const copies = theme('Passing for the VM of a verified Node', {
  'reported: UUID': told("the UUID of a reported Node's VM"),
  'reported: MACs': told('the same, with its MAC addresses'),
  'reported: made-up claim': told('the same, and a made-up claim'),
  'reported: guessed nonce': told('the same, and a guessed nonce'),
  'reported: garbage': told('the same, and 60 kB of text for a claim'),
  'reported: off and on': told('the same, off and on again'),

  'proven: made-up claim': told('facts and a made-up claim of a proven one'),
  'proven: guessed nonce': told('the same, and a guessed nonce'),
  'proven: own claim': told("the same, and the victim's own claim", { credential: READER }),
  'proven: instance UUID': told("the same, and the victim's instance UUID", { credential: ADMIN }),
  'proven: to and fro': told("the victim's UUID and its own in turn, 40 times"),
  'proven: bigger': told('the same with another instance type'),
  'proven: moves': told('the same, moved to another zone'),
  'proven: vMotion': told("the victim's claim during a vMotion", {
    credential: READER,
  }),
  'proven: renamed': told('a name with control characters'),
  'proven: unregistered': told('to be registered again'),

  'boot: made-up claim': told('a made-up claim of the new boot, before the victim shows its own', {
    victim: KEEPS,
  }),
  'boot: guessed nonce': told('the same with a guessed nonce', { victim: KEEPS }),
  'boot: earlier claim': told("the victim's claim of the boot before", { credential: READER, victim: KEEPS }),
  'boot: new claim first': told("the victim's new claim, before it shows there", {
    credential: READER,
    victim: KEEPS,
  }),
  'boot: new claim too': told("the victim's new claim, shown on both", {
    credential: READER,
  }),
  'boot: late report': told("the victim's next claim on both, before its report", {
    credential: READER,
    victim: KEEPS,
  }),

  'off: runs': told('to run while the victim is off', { victim: TAINTED }),
  'off: made-up claim': told('a made-up claim while the victim is off'),
  'off: guessed nonce': told('the same, and a guessed nonce'),
  'off: own claim': told("the same, and the victim's last claim", { credential: READER }),
  'off: instance UUID': told("the same, and the victim's instance UUID", { credential: ADMIN }),
  'off: leader': told('the same, while another replica becomes the leader', { credential: READER }),
  'back on': told("the victim's last claim when it runs again", {
    credential: READER,
    victim: 'loses its shutdown taint',
  }),
  'suspended: own claim': told("the victim's last claim while it is suspended", {
    credential: READER,
    victim: TAINTED,
  }),
  'disconnected: own claim': told("the victim's last claim while its host is away", {
    credential: READER,
  }),
  'disconnected: made-up claim': told('the same with a made-up claim'),

  'own power': ignored('its VM off'),
  'own suspension': ignored('suspended'),
  'own orphan': ignored('orphaned'),
  'own invalid': ignored('invalid'),
  'own template': ignored('a template'),

  'running: leader': told('to wait for another leader', {
    credential: READER,
  }),
  'many copies': told('a dozen copies'),
  'another victim': told('to become a copy of another VM'),
  destroyed: ignored('destroyed, while the victim is silent'),
})

function kept(tried: string, seen: string, credential = TENANT, victim = 'its Node is kept'): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen, victim }
}

/** The victim's VM is out of sight, and the attacker's is the only one that a search finds. */
export const absentees = theme('Passing for a VM that vCenter does not show just now', {
  unregistered: kept("the victim's claim while it is unregistered", 'UUIDOfAnotherVM', READER, NOTHING),
  'unregistered: made-up claim': kept('the same with a made-up claim', 'UUIDOfAnotherVM', TENANT, NOTHING),
  'unregistered: leader': kept(
    'the same, while another replica becomes the leader',
    'UUIDOfAnotherVM',
    TENANT,
    NOTHING,
  ),
  'unregistered: for long': kept(
    'to stay for longer than lifecycle.absentFor, while the victim runs',
    'UUIDOfAnotherVM',
    TENANT,
    'is bound again once it is registered',
  ),
  inaccessible: kept("the victim's claim while its datastore is away", 'VMNotConnected', READER, NOTHING),
  'inaccessible: leader': kept(
    "the victim's claim while its datastore is away and the leader changes",
    'VMNotSearchable',
    READER,
    NOTHING,
  ),
  'inaccessible: new boot': kept(
    'a made-up claim when the victim reports a new boot',
    'VMNotSearchable',
    TENANT,
    NOTHING,
  ),
  'inaccessible: guessed nonce': kept('the same with a guessed nonce', 'VMNotSearchable', TENANT, NOTHING),
  'inaccessible: destroyed': kept(
    'to destroy its VM under another leader, while the victim is silent',
    'VMExists',
  ),
  'gone: kept': kept(
    "to keep its VM when the victim's is destroyed",
    'UUIDOfAnotherVM',
    TENANT,
    'its Node is deleted once the copy is gone',
  ),
  'failed over: former VM': kept(
    'to destroy the VM to which a machine failed over',
    'UUIDOfAnotherVM',
    'whoever may destroy VMs',
  ),
})
