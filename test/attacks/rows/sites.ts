import { type AttackRow, NOTHING, theme } from './row.ts'

const TENANT = 'a tenant of another vCenter'
const READER = 'a reader of both'

function row(
  tried: string,
  seen: string,
  { victim = NOTHING, credential = TENANT }: { readonly victim?: string; readonly credential?: string } = {},
): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen, victim }
}

/** The attacker's VM lies in the second of two configured vCenters. */
export const sites = theme('Passing for a VM of another vCenter', {
  'made-up claim': row('facts and a made-up claim', 'CopyFound'),
  'own claim': row("the same with the victim's claim", 'CopyFound', { credential: READER }),
  'instance UUID': row("the same, and the victim's instance UUID", 'CopyFound'),
  'victim off': row('the same while the victim is off', 'CopyFound'),
  'own VM off': row('to switch its VM off', 'VMFound'),

  'away: own claim': row("the victim's claim while its vCenter is down", 'CopyFound', {
    credential: READER,
  }),
  'away: made-up claim': row('the same with a made-up claim', 'CopyFound'),
  'away: new boot': row('the same, of the next boot, which the victim reports', 'CopyFound'),
  'away: guessed nonce': row('the same with a guessed nonce', 'CopyFound'),
  'away: leader': row('the same, while another replica becomes the leader', 'CopyFound'),
  'away: own VM off': row('the same, and to switch its VM off', 'CopyFound'),
  'joins: away': row('facts of a machine that joins while its vCenter is down', 'Unavailable', {
    victim: 'waits until its vCenter answers',
  }),
  'joins: away, made-up claim': row('the same, and a made-up claim', 'Unavailable', {
    victim: 'waits until its vCenter answers',
  }),
  'away: own VM destroyed': row('to destroy its VM while the victim is silent', 'CopyFound', {
    victim: 'its Node is kept',
  }),

  'joins: own vCenter away': row('to have its own vCenter down', 'Unavailable', {
    victim: 'waits until all answer, unless it shows its claim',
  }),
  'joins: claim': {
    ...row('to have its own vCenter down, while the victim shows its claim', 'Proven', {
      victim: 'becomes proven at once',
    }),
    refusedBy: 'nobody needs to',
  },

  'heedless: copy': row(
    "facts of a verified Node's VM while its vCenter is down, with `identity.requireAllVCenters: false`",
    'CopyFound',
  ),
  'heedless: made-up claim': row('the same with a made-up claim', 'CopyFound'),
  'heedless: joins': row(
    'facts of a machine that joins while its vCenter is down, with `identity.requireAllVCenters: false`',
    'Proven',
    {
      victim: 'is bound to the copy as reported, until its own VM is seen and shows its claim',
    },
  ),
})
