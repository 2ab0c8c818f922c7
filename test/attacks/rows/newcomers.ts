import { type AttackRow, NOTHING, theme } from './row.ts'

const TENANT = 'a tenant'
const READER = 'a reader'

function waits(tried: string, victim: string, credential = TENANT): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen: 'AmbiguousUUID', victim }
}

function told(tried: string, victim = 'becomes proven', credential = TENANT): AttackRow {
  return { credential, tried, refusedBy: 'controller', seen: 'CopyFound', victim }
}

function noRival(tried: string, victim = 'becomes reported at once', credential = TENANT): AttackRow {
  return { credential, tried, refusedBy: 'nobody needs to', seen: 'VMFound', victim }
}

const WAITS = 'waits'

/** The attacker's VM has the BIOS UUID, and in most rows the MACs, of a VM whose Node is not verified yet. */
export const newcomers = theme('Passing for a machine that joins', {
  'no claim': waits('facts of a VM whose agent cannot claim', WAITS),
  'no claim: made-up': waits('the same, and a made-up claim', WAITS),
  'no claim: guessed': waits('the same, and a guessed nonce', WAITS),
  'no claim: leader': waits('the same, while another replica becomes the leader', WAITS),
  'no claim: disconnected': waits('the same, on a host that does not answer', WAITS),
  'no claim: gone': noRival('to destroy that VM', 'becomes reported'),
  'UUID alone': told('the BIOS UUID with other MACs', 'becomes reported at once'),

  'claim: made-up': told('facts and a made-up claim, when the victim shows its own'),
  'claim: guessed': told('the same with a guessed nonce'),
  'claim: not visible yet': waits("facts, before the victim's claim shows", 'waits until its claim shows'),
  'claim: second comes late': told(
    'to come when the victim is reported, before its claim shows',
    'stays reported until its claim shows',
  ),
  'claim: shown twice': waits("the victim's claim on its own VM", 'waits until only one shows it', READER),
  'claim: shown twice, destroyed': waits(
    "the victim's claim, until its VM is destroyed",
    'waits until either is gone',
    READER,
  ),
  'claim: another VM is off': noRival(
    'its VM off, with the claim of the victim',
    'becomes proven at once',
    READER,
  ),
  'claim: out of scope': noRival(
    'the same in a datacenter that is not configured',
    'becomes proven at once',
    READER,
  ),

  off: noRival('its VM off'),
  suspended: noRival('suspended'),
  template: noRival('a template'),
  orphaned: noRival('orphaned'),
  invalid: noRival('invalid'),
  'out of scope': noRival('outside the configured datacenters'),
  'later out of scope': noRival('to leave the configured datacenters once the victim is verified', NOTHING),

  'shown first': {
    credential: TENANT,
    tried: 'facts, before the victim shows: gets its Node, as reported',
    refusedBy: 'controller',
    seen: 'VMChanged',
    victim: 'becomes proven once its claim shows, and keeps the zone with topology.onChange: report',
  },
})
