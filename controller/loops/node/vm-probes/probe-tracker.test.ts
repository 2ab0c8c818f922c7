import t from 'tap'
import { boundVM } from '../../../../test/fixtures/facts.ts'
import { answerAt, probe } from '../../../../test/fixtures/probes.ts'
import type { Absence, ProbePlan } from '../decide/decision.ts'
import { isFresh } from '../decide/lifecycle/evidence.ts'
import { createProbeTracker } from './probe-tracker.ts'

const VCENTER = boundVM().vCenterInstanceUUID

function absent(changes: Partial<Absence> = {}): Absence {
  return {
    group: VCENTER,
    since: 0,
    from: 0,
    until: 0,
    counts: true,
    lives: false,
    pending: false,
    latched: false,
    held: false,
    few: true,
    doubted: false,
    ...changes,
  }
}

function deletion(group = VCENTER) {
  return { group, vanished: { from: 5, until: 7 } }
}

function probePlan(changes: Partial<ProbePlan> = {}, vm = boundVM()): ProbePlan {
  return {
    request: { nodeUID: 'uid', vm, others: [], lifeSign: 'a', agentSign: 'a', volumes: false },
    due: true,
    absence: absent(),
    ...changes,
  }
}

function setUp() {
  let monotonic = 0
  const tracker = createProbeTracker(() => monotonic)
  const fleet = (vCenter: string, except: string) => {
    const { absentSince, deleted, latched } = tracker.fleet(vCenter, except, [])
    return { missing: absentSince.length, latched, deletedAgo: deleted.map(({ ago }) => ago) }
  }
  const answer = (name: string, { request } = probePlan()) =>
    tracker.record(name, request, answerAt(monotonic, [probe()]))
  return { tracker, fleet, answer, turn: (ms: number) => (monotonic += ms) }
}

t.test('what is answered is kept as long as anybody wants it', async (t) => {
  const { tracker, answer } = setUp()
  answer('n1')
  t.equal(tracker.evidence('n1'), undefined, 'nobody has asked')
  tracker.track('n1', probePlan())
  answer('n1')
  tracker.track('n1', probePlan({ due: false }))
  t.equal(tracker.evidence('n1')?.absent?.times, 1)
  tracker.track('n1', undefined)
  t.equal(tracker.evidence('n1'), undefined)
  t.equal(tracker.request('n1'), undefined)
})

t.test('an answer about another VM or Node is not taken for one about this', async (t) => {
  const { tracker, answer } = setUp()
  tracker.track('n1', probePlan())
  answer('n1')
  tracker.track('n1', probePlan({}, boundVM({ moref: 'vm-9' })))
  t.equal(tracker.evidence('n1'), undefined, 'it is bound to another VM by now')
  answer('n1')
  t.equal(tracker.evidence('n1'), undefined, 'the answer to the old request came late')
})

t.test('those that are missing are counted by vCenter, without oneself', async (t) => {
  const { tracker, fleet, turn } = setUp()
  tracker.track('n1', probePlan())
  tracker.track('n2', probePlan({ absence: absent({ latched: true, held: true }) }))
  tracker.track('off', { request: probePlan().request, due: true })
  tracker.track(
    'elsewhere',
    probePlan({ absence: absent({ group: 'two' }) }, boundVM({ vCenter: 'vc2', vCenterInstanceUUID: 'two' })),
  )
  t.same(fleet(VCENTER, 'n1'), { missing: 1, latched: 1, deletedAgo: [] })
  t.same(fleet(VCENTER, 'n2'), { missing: 1, latched: 0, deletedAgo: [] })
  t.same(tracker.missing('vc1', []), { missing: 2, brakeEngaged: true })
  t.same(tracker.missing('vc2', []), { missing: 1, brakeEngaged: false })

  tracker.deleting(deletion(), 'gone-1')
  turn(30_000)
  tracker.deleting(deletion(), 'gone-2')
  turn(29_999)
  t.same(fleet(VCENTER, 'n1').deletedAgo, [59_999, 29_999])
  t.same(fleet('two', 'n1').deletedAgo, [])
})

t.test('those that live are counted apart, and when they were too many is remembered', async (t) => {
  const { tracker, turn } = setUp()
  const apart = (vCenter: string) => {
    const { living, doubtedAgo, absentSince } = tracker.fleet(vCenter, 'n1', [])
    return { living, doubtedAgo, missing: absentSince.length }
  }
  tracker.track('n2', probePlan({ absence: absent({ counts: false, lives: true }) }))
  t.same(apart(VCENTER), { living: 1, doubtedAgo: Number.POSITIVE_INFINITY, missing: 0 })
  t.equal(tracker.fleet(VCENTER, 'n2', []).living, 0, 'without oneself')
  tracker.track('n3', probePlan({ absence: absent({ counts: false, lives: true, doubted: true }) }))
  turn(5)
  t.same(apart(VCENTER), { living: 2, doubtedAgo: 5, missing: 0 })
  t.same(apart('two'), { living: 0, doubtedAgo: Number.POSITIVE_INFINITY, missing: 0 })
  t.same(tracker.missing('vc1', []), { missing: 2, brakeEngaged: true })
  tracker.track('n3', undefined)
  turn(5)
  t.same(apart(VCENTER), { living: 1, doubtedAgo: 10, missing: 0 })
})

t.test('a deletion that came to nothing is none, and a refusal is remembered for a while', async (t) => {
  const { tracker, fleet, turn } = setUp()
  tracker.track('n1', probePlan())
  tracker.deleting(deletion(), 'gone')
  turn(1000)
  tracker.deleting(deletion(), 'uid').failed('n1', undefined)
  t.same(fleet(VCENTER, 'n1').deletedAgo, [1000])
  t.equal(tracker.refusal('n1'), undefined)
  tracker.deleting(deletion(), 'uid').failed('n1', 'a webhook will not have it')
  t.equal(tracker.refusal('n1'), 'a webhook will not have it')
  turn(300_000)
  t.equal(tracker.refusal('n1'), undefined, 'it is tried again')
  tracker.deleting(deletion(), 'uid').failed('n1', 'again')
  tracker.track('n1', undefined)
  t.equal(tracker.refusal('n1'), undefined, 'the VM is back')
})

t.test('a Node whose deletion was left without an answer, again and again, counts once', async (t) => {
  const { tracker, fleet } = setUp()
  const looked = (missing: boolean) =>
    tracker.track('n1', {
      request: { ...probePlan().request, nodeUID: 'n1-uid' },
      due: true,
      ...(missing ? { absence: absent() } : {}),
    })
  for (let attempt = 0; attempt < 3; attempt++) {
    looked(true)
    tracker.deleting(deletion(), 'n1-uid')
    looked(false)
  }
  t.same(fleet(VCENTER, 'n2'), { missing: 0, latched: 0, deletedAgo: [0] }, 'under way')
  t.same(fleet(VCENTER, 'n1').deletedAgo, [], 'not for itself, which is there')
  looked(true)
  t.same(fleet(VCENTER, 'n2'), { missing: 1, latched: 0, deletedAgo: [] }, 'it is there, and missing')
  tracker.track('n1', undefined)
  t.same(fleet(VCENTER, 'n2'), { missing: 0, latched: 0, deletedAgo: [0] }, 'it went after all')
})

t.test(
  'a Node that is deleted counts as such until the watch knows, and for itself not at all',
  async (t) => {
    const { tracker, fleet, turn } = setUp()
    const request = { ...probePlan().request, nodeUID: 'n1-uid' }
    tracker.track('n1', { request, due: false })
    tracker.deleting(deletion(), 'n1-uid').succeeded()
    turn(5)
    tracker.track('n1', probePlan({ request }))
    const counted = { missing: 0, latched: 0, deletedAgo: [5] }
    t.same(fleet(VCENTER, 'n2'), counted, 'looked at once more')
    t.same(fleet(VCENTER, 'n1').deletedAgo, [])
    tracker.deleting(deletion(), 'n1-uid').failed('n1', undefined)
    t.same(fleet(VCENTER, 'n2'), counted, 'that it is gone already takes nothing back')
  },
)

t.test(
  'for how long a VM is missing, and that one whose Node is being deleted does not come back',
  async (t) => {
    const { tracker, turn } = setUp()
    t.equal(tracker.missingFor('n1'), 0)
    tracker.track('n1', probePlan())
    t.equal(tracker.missingFor('n1'), 0, 'it has just vanished')
    turn(1000)
    t.equal(tracker.missingFor('n1'), 1000)
    const attempt = tracker.deleting(deletion(), 'uid')
    tracker.track('n1', { request: probePlan().request, due: false })
    t.equal(tracker.missingFor('n1'), Number.POSITIVE_INFINITY)
    attempt.failed('n1', undefined)
    t.equal(tracker.missingFor('n1'), 0, 'it was seen again')
  },
)

t.test('those that the brake is engaged for are held while nobody can ask about them', async (t) => {
  const { tracker } = setUp()
  const latched = ['n1', 'n2'].map((name) => ({ name, vCenter: 'vc1', group: VCENTER }))
  tracker.track('n1', probePlan({ absence: absent({ latched: true }) }))
  t.match(tracker.fleet(VCENTER, 'n3', latched), { latched: 2 })
  t.match(tracker.fleet(VCENTER, 'n1', latched), { latched: 1 }, 'without itself')
  t.match(tracker.fleet('two', 'n3', latched), { latched: 0 })
  t.same(tracker.missing('vc1', latched), { missing: 1, brakeEngaged: true })
  t.same(tracker.missing('vc2', latched), { missing: 0, brakeEngaged: false })
})

t.test('for how long few are missing begins anew with each moment in which many are', async (t) => {
  const { tracker, turn } = setUp()
  const few = () => tracker.fleet(VCENTER, 'n9', []).fewFor
  t.equal(few(), 0)
  tracker.track('n1', probePlan())
  turn(100)
  t.equal(few(), 100)
  tracker.track('n2', probePlan({ absence: absent({ few: false }) }))
  turn(100)
  t.equal(few(), 0)
  tracker.track('n2', probePlan())
  turn(10)
  tracker.track('n1', probePlan())
  t.equal(few(), 10)
})

t.test('Nodes that went while nobody watched are forgotten, what was deleted is not', async (t) => {
  const { tracker } = setUp()
  tracker.track('n1', probePlan())
  tracker.track('n2', probePlan())
  tracker.deleting(deletion(), 'gone')
  tracker.resume((name) => name === 'n2')
  t.same(tracker.fleet(VCENTER, 'n3', []).pendingSince, [])
  t.match(tracker.fleet(VCENTER, 'n3', []), {
    absentSince: [{ from: 0 }],
    deleted: [{ vanished: { from: 5, until: 7 } }],
  })
  t.equal(tracker.request('n1'), undefined)
})

t.test('what was answered to another configuration counts, and is asked once more', async (t) => {
  const { tracker, answer } = setUp()
  tracker.track('n1', probePlan())
  answer('n1')
  const { answeredAt } = tracker.evidence('n1') ?? {}
  const fresh = () => {
    const evidence = tracker.evidence('n1')
    return answeredAt && evidence && isFresh(evidence, answeredAt)
  }
  t.equal(fresh(), true)
  tracker.resume(() => true)
  t.match(tracker.evidence('n1')?.absent, { times: 1 })
  t.equal(fresh(), false)
  answer('n1')
  t.match(tracker.evidence('n1')?.absent, { times: 2 })
  t.equal(fresh(), true)
})

t.test('since when a VM is missing is known of the same Node alone', async (t) => {
  const { tracker } = setUp()
  tracker.track('n1', probePlan({ absence: absent({ since: 42 }) }))
  t.equal(tracker.absentSince('n1', 'uid'), 42)
  t.equal(tracker.absentSince('n1', 'other'), undefined)
})
