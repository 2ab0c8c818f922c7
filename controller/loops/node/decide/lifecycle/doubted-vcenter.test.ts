import t from 'tap'
import { facts, fleet, node, SETTINGS } from '../../../../../test/fixtures/facts.ts'
import { absence } from '../../../../../test/fixtures/probes.ts'
import { livesOn, speaksByKubeletAlone, tooManyLive, vCenterDoubted, wasDoubted } from './doubted-vcenter.ts'

const settings = SETTINGS.lifecycle
const QUIET = 2 * settings.absentFor
const of = (status: string) => node({ taints: [], ready: { status, lastHeartbeatTime: '' } })
const proven = absence(facts(), { absentFor: 0 })
const speaks = { ...proven, spokenAt: proven.askedAt }
const run = (last: number) => ({ since: 0, last, times: 2 })
const silentSince = { ...proven, spokenAt: proven.askedAt - settings.absentFor }

const ROWS: [string, Parameters<typeof livesOn>, boolean][] = [
  ['nothing was proven yet', [of('True'), undefined, 0, settings], false],
  ['it has not spoken since', [of('True'), { ...speaks, spokenAt: undefined }, QUIET, settings], false],
  ['its kubelet calls it Ready', [of('True'), speaks, 0, settings], true],
  ['whatever the last answers prove', [of('True'), { ...speaks, absent: undefined }, 0, settings], true],
  ['its kubelet calls it not Ready', [of('False'), speaks, 0, settings], true],
  ['nobody has noticed that its kubelet fell silent', [of('False'), silentSince, QUIET, settings], false],
  [
    'nor that it did so while it was Ready',
    [of('True'), { ...speaks, absent: run(30_000) }, 0, settings],
    false,
  ],
  ['its Lease may be renewed late', [of('True'), { ...speaks, absent: run(29_999) }, 0, settings], true],
  ['its kubelet is silent, and its agent may be soon', [of('Unknown'), speaks, QUIET - 1, settings], false],
  ['its agent goes on speaking', [of('Unknown'), speaks, QUIET, settings], true],
  ['it has spoken, and is silent', [of('Unknown'), silentSince, QUIET, settings], false],
  ['a person has decided on it', [{ ...of('True'), deletionAnnotation: 'hold' }, speaks, 0, settings], false],
]

t.test(
  'a machine lives on that has spoken since it was proven absent, and was not silent for long',
  async (t) => {
    for (const [what, row, lives] of ROWS) t.equal(livesOn(...row), lives, what)
  },
)

t.test(
  'a vCenter is in doubt that is wrong about more than may vanish at once, and for a while after',
  async (t) => {
    t.equal(tooManyLive(2, fleet({ bound: 10 }), settings), false)
    t.equal(tooManyLive(3, fleet({ bound: 10 }), settings), true)
    t.equal(tooManyLive(1, fleet({ bound: 3 }), settings), false, 'nor in a small cluster')
    t.equal(wasDoubted(fleet(), settings), false)
    t.equal(wasDoubted(fleet({ doubtedAgo: QUIET - 1 }), settings), true)
    t.equal(wasDoubted(fleet({ doubtedAgo: QUIET }), settings), false)
  },
)

t.test('where its agent has been silent for long, the kubelet speaks alone', async (t) => {
  const long = 6 * settings.absentFor
  const heard = (ago: number) => ({ ...speaks, agentHeardAt: speaks.askedAt - ago })
  t.equal(speaksByKubeletAlone(heard(long), settings), true)
  t.equal(speaksByKubeletAlone(heard(long - 1), settings), false)
  t.equal(speaksByKubeletAlone({ ...heard(long), absent: undefined }, settings), false, 'nothing is proven')
  const agentless = { ...heard(long), request: { ...speaks.request, agentSign: undefined } }
  t.equal(speaksByKubeletAlone(agentless, settings), false, 'there never was an agent')
  t.equal(speaksByKubeletAlone(undefined, settings), false)
})

t.test('what is held for that is told what releases it', async (t) => {
  const { reason, message } = vCenterDoubted(of('Unknown'), { vCenter: 'vc1', moref: 'vm-1' }, settings)
  t.equal(reason, 'BrakeEngaged')
  t.match(
    message,
    /vCenter vc1 does not show.*after those VMs are registered again.*agents have been silent for 30m.*worker-1 rollcall.dev\/deletion=proceed$/,
  )
  t.match(
    vCenterDoubted(of('Unknown'), { vCenter: 'unknown', moref: '' }, settings).message,
    /: no vCenter shows/,
  )
  t.ok(message.length < 1024)
})
