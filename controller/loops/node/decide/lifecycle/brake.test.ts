import t from 'tap'
import { at, facts, fleet, node, SETTINGS } from '../../../../../test/fixtures/facts.ts'
import { absence } from '../../../../../test/fixtures/probes.ts'
import {
  allowedAbsent,
  atOnce,
  brakeEngaged,
  countsAsAbsent,
  fewAbsent,
  releasesItself,
  tooManyAbsent,
  tooManyForNow,
  waveOf,
} from './brake.ts'

const settings = SETTINGS.lifecycle
const MINUTE = 60_000

t.test('a share of the Nodes may be missing, and in small clusters a few', async (t) => {
  for (const [bound, share, minimum, allowed] of [
    [1, 0.2, 1, 1],
    [3, 0.2, 1, 1],
    [4, 0.5, 1, 2],
    [9, 0.2, 1, 1],
    [10, 0.2, 1, 2],
    [1000, 0.2, 1, 200],
    [1000, 0, 0, 0],
    [3, 0.2, 2, 2],
    [0, 0.2, 1, 1],
  ] as const) {
    const chosen = { ...settings, maxAbsentShare: share, maxAbsentMinimum: minimum }
    t.equal(allowedAbsent(bound, chosen), allowed, `${allowed} of ${bound}`)
    const missing = (others: number) => fleet({ bound, absentSince: Array(others).fill(0) })
    if (allowed > 0) t.equal(tooManyAbsent(at(0), missing(allowed - 1), chosen), false)
    t.equal(tooManyAbsent(at(0), missing(allowed), chosen), true)
  }
})

t.test('those that vanish one after the other are no wave', async (t) => {
  const wave = (moment: number, others: readonly number[]) => waveOf(at(moment), others.map(at), 10)
  t.equal(wave(100, []), 1)
  t.equal(wave(100, [110, 90, 100]), 4)
  t.equal(wave(100, [111, 89]), 1)
  t.equal(wave(100, [130, 110, 120, 70, 80, 90]), 7, 'each within the gap of the next')
  t.equal(wave(100, [141, 120, 130, 110]), 4, 'but not beyond a gap')
  t.equal(atOnce(settings), MINUTE)
  t.equal(atOnce({ ...settings, absentFor: 40_000 }), 10_000)
  t.equal(atOnce({ ...settings, absentFor: 240_000 }), MINUTE)
  t.equal(atOnce({ ...settings, absentFor: 1_000 }), 5_000)
  t.equal(atOnce({ ...settings, absentFor: 3_600_000 }), MINUTE)
})

t.test('what goes missing in parts and falls silent together is one wave', async (t) => {
  const parts = [0, 0, 5 * MINUTE, 9 * MINUTE].map((from) => ({ from, until: 9 * MINUTE }))
  const [own = at(0), ...others] = parts
  t.equal(waveOf(own, others, MINUTE), 4)
  t.equal(waveOf(at(8 * MINUTE), parts, MINUTE), 5, 'and what vanished in between')
  t.equal(waveOf(at(11 * MINUTE), parts, MINUTE), 1)
  t.equal(tooManyAbsent(own, { ...fleet(), absentSince: others }, settings), true)
})

t.test('in a cluster of three to nine, workers that go minutes apart are not too many', async (t) => {
  for (const bound of [3, 5, 9]) {
    const others = Array.from({ length: bound - 2 }, (_, index) => -(index + 1) * 1.5 * MINUTE)
    t.equal(tooManyAbsent(at(0), fleet({ bound, absentSince: others }), settings), false)
    const deleted = others.map((moment) => ({ ago: 0, vanished: at(moment) }))
    t.equal(tooManyForNow(at(0), fleet({ bound, deleted }), settings), false)
  }
  t.equal(tooManyAbsent(at(0), fleet({ bound: 9, absentSince: [-MINUTE] }), settings), true)
})

t.test(
  'those that were deleted just before are part of the wave, unless they were meant to go',
  async (t) => {
    const deleted = (...moments: (number | undefined)[]) =>
      fleet({
        bound: 5,
        deleted: moments.map((moment) => ({ ago: 1, vanished: moment === undefined ? moment : at(moment) })),
      })
    t.equal(tooManyForNow(at(0), deleted(0), settings), true)
    t.equal(tooManyForNow(at(0), deleted(undefined, undefined), settings), false)
    t.equal(tooManyAbsent(at(0), deleted(0), settings), false, 'alone, they do not engage it')
    const long = fleet({ bound: 5, deleted: [{ ago: 2 * settings.absentFor, vanished: at(0) }] })
    t.equal(tooManyForNow(at(0), long, settings), false)
  },
)

t.test('none goes while it is still to be told whether too many vanished with it', async (t) => {
  const pending = fleet({ bound: 5, pendingSince: [0] })
  t.equal(tooManyForNow(at(0), pending, settings), true)
  t.equal(tooManyForNow(at(10 * MINUTE), pending, settings), false, 'that was another time')
  t.equal(tooManyAbsent(at(0), pending, settings), false, 'nor does it engage')
})

t.test('it is released when few were missing for long, and proven to be so throughout', async (t) => {
  const quiet = 2 * settings.absentFor
  const absent = { since: 0, last: quiet, times: 3 }
  t.equal(releasesItself({ absent }, fleet({ fewFor: quiet }), settings), true)
  t.equal(releasesItself({ absent }, fleet({ fewFor: quiet - 1 }), settings), false)
  t.equal(releasesItself({ absent: { ...absent, since: 1 } }, fleet({ fewFor: quiet }), settings), false)
  t.equal(releasesItself({ absent: undefined }, fleet({ fewFor: quiet }), settings), false)
  const few = (latched: boolean, moment: number | undefined, others: Parameters<typeof fleet>[0]) =>
    fewAbsent({ latched, counted: moment === undefined ? undefined : at(moment) }, fleet(others), settings)
  t.equal(few(true, undefined, { latched: 1 }), true)
  t.equal(few(true, undefined, { latched: 2 }), false)
  t.equal(few(false, 0, { absentSince: [0] }), true)
  t.equal(few(false, 0, { absentSince: [0, 0] }), false)
  t.equal(few(false, undefined, { absentSince: [0, 0, 0] }), false)
  const apart = [-2 * MINUTE, -4 * MINUTE, -6 * MINUTE]
  t.equal(few(true, 0, { absentSince: apart }), true, 'those that went one by one meanwhile')
})

t.test('machines that no vCenter ever showed are called that, and let go by the same command', async (t) => {
  const { message } = brakeEngaged(node(), { vCenter: 'unknown', moref: '' })
  t.match(message, /more machines that no vCenter has ever shown vanished at once/)
  t.match(message, /brakeEngagedFor=="unknown"/)
  t.match(brakeEngaged(node(), { vCenter: 'vc1', moref: 'vm-1' }).message, /more VMs of vCenter vc1 vanished/)
})

t.test('what counts is proven absent, not Ready, and meant by nobody', async (t) => {
  const silent = node({ taints: [], ready: { status: 'Unknown', lastHeartbeatTime: '' } })
  const evidence = absence(facts())
  const taint = (key: string) => ({ ...silent, taints: [{ key, effect: 'NoSchedule' }] })
  t.equal(countsAsAbsent(silent, evidence), true)
  t.equal(countsAsAbsent(silent, undefined), false, 'not asked for')
  t.equal(countsAsAbsent(silent, { ...evidence, absent: undefined }), false, 'not proven')
  t.equal(countsAsAbsent(node(), evidence), false, 'Ready')
  t.equal(countsAsAbsent(node(), { ...evidence, spokenAt: 0 }), false, 'Ready, since it lives')
  for (const deletion of ['hold', 'proceed', 'what?'])
    t.equal(countsAsAbsent({ ...silent, deletionAnnotation: deletion }, evidence), false, deletion)
  t.equal(countsAsAbsent(taint('ToBeDeletedByClusterAutoscaler'), evidence), false)
  t.equal(countsAsAbsent(taint('karpenter.sh/disrupted'), evidence), false)
  t.equal(countsAsAbsent(taint('node.kubernetes.io/unschedulable'), evidence), true, 'a cordon says nothing')
})
