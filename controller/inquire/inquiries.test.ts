import t from 'tap'
import { boundVM } from '../../test/fixtures/facts.ts'
import { answerAt, probe } from '../../test/fixtures/probes.ts'
import type { Absence, Inquiry } from '../decide/decision.ts'
import { isFresh } from '../decide/lifecycle/evidence.ts'
import { createInquiries } from './inquiries.ts'

const VCENTER = boundVM().vCenterInstanceUUID

function absent(changes: Partial<Absence> = {}): Absence {
  return {
    group: VCENTER,
    since: 0,
    until: 0,
    counts: true,
    pending: false,
    latched: false,
    held: false,
    few: true,
    ...changes,
  }
}

function deletion(group = VCENTER) {
  return { group, absentSince: 7 }
}

function inquiry(changes: Partial<Inquiry> = {}, vm = boundVM()): Inquiry {
  return {
    question: { nodeUID: 'uid', vm, others: [], lifeSign: 'a', volumes: false },
    ask: true,
    absence: absent(),
    ...changes,
  }
}

function setUp() {
  let monotonic = 0
  const inquiries = createInquiries({ monotonic: () => monotonic })
  const fleet = (vCenter: string, except: string) => {
    const { absentSince, deleted, latched } = inquiries.fleet(vCenter, except, [])
    return { missed: absentSince.length, latched, deletedAgo: deleted.map(({ ago }) => ago) }
  }
  const answer = (name: string, { question } = inquiry()) =>
    inquiries.answer(name, question, answerAt(monotonic, [probe()]))
  return { inquiries, fleet, answer, turn: (ms: number) => (monotonic += ms) }
}

t.test('what is answered is kept as long as anybody wants it', async (t) => {
  const { inquiries, answer } = setUp()
  answer('n1')
  t.equal(inquiries.evidence('n1'), undefined, 'nobody has asked')
  inquiries.take('n1', inquiry())
  answer('n1')
  inquiries.take('n1', inquiry({ ask: false }))
  t.equal(inquiries.evidence('n1')?.absent?.times, 1)
  inquiries.take('n1', undefined)
  t.equal(inquiries.evidence('n1'), undefined)
  t.equal(inquiries.question('n1'), undefined)
})

t.test('an answer about another VM or Node is not taken for one about this', async (t) => {
  const { inquiries, answer } = setUp()
  inquiries.take('n1', inquiry())
  answer('n1')
  inquiries.take('n1', inquiry({}, boundVM({ moref: 'vm-9' })))
  t.equal(inquiries.evidence('n1'), undefined, 'it is bound to another VM by now')
  answer('n1')
  t.equal(inquiries.evidence('n1'), undefined, 'the answer to the old question came late')
})

t.test('those that are missed are counted by vCenter, without oneself', async (t) => {
  const { inquiries, fleet, turn } = setUp()
  inquiries.take('n1', inquiry())
  inquiries.take('n2', inquiry({ absence: absent({ latched: true, held: true }) }))
  inquiries.take('off', { question: inquiry().question, ask: true })
  inquiries.take(
    'elsewhere',
    inquiry({ absence: absent({ group: 'two' }) }, boundVM({ vCenter: 'vc2', vCenterInstanceUUID: 'two' })),
  )
  t.same(fleet(VCENTER, 'n1'), { missed: 1, latched: 1, deletedAgo: [] })
  t.same(fleet(VCENTER, 'n2'), { missed: 1, latched: 0, deletedAgo: [] })
  t.same(inquiries.missing('vc1', []), { missing: 2, brakeClosed: true })
  t.same(inquiries.missing('vc2', []), { missing: 1, brakeClosed: false })

  inquiries.deleting(deletion(), 'gone-1')
  turn(30_000)
  inquiries.deleting(deletion(), 'gone-2')
  turn(29_999)
  t.same(fleet(VCENTER, 'n1').deletedAgo, [59_999, 29_999])
  t.same(fleet('two', 'n1').deletedAgo, [])
})

t.test('a deletion that came to nothing is none, and a refusal is remembered for a while', async (t) => {
  const { inquiries, fleet, turn } = setUp()
  inquiries.take('n1', inquiry())
  inquiries.deleting(deletion(), 'gone')
  turn(1000)
  inquiries.deleting(deletion(), 'uid').failed('n1', undefined)
  t.same(fleet(VCENTER, 'n1').deletedAgo, [1000])
  t.equal(inquiries.refusal('n1'), undefined)
  inquiries.deleting(deletion(), 'uid').failed('n1', 'a webhook will not have it')
  t.equal(inquiries.refusal('n1'), 'a webhook will not have it')
  turn(300_000)
  t.equal(inquiries.refusal('n1'), undefined, 'it is tried again')
  inquiries.deleting(deletion(), 'uid').failed('n1', 'again')
  inquiries.take('n1', undefined)
  t.equal(inquiries.refusal('n1'), undefined, 'the VM is back')
})

t.test('a Node whose deletion was left without an answer, again and again, counts once', async (t) => {
  const { inquiries, fleet } = setUp()
  const looked = (missed: boolean) =>
    inquiries.take('n1', {
      question: { ...inquiry().question, nodeUID: 'n1-uid' },
      ask: true,
      ...(missed ? { absence: absent() } : {}),
    })
  for (let attempt = 0; attempt < 3; attempt++) {
    looked(true)
    inquiries.deleting(deletion(), 'n1-uid')
    looked(false)
  }
  t.same(fleet(VCENTER, 'n2'), { missed: 0, latched: 0, deletedAgo: [0] }, 'under way')
  t.same(fleet(VCENTER, 'n1').deletedAgo, [], 'not for itself, which is there')
  looked(true)
  t.same(fleet(VCENTER, 'n2'), { missed: 1, latched: 0, deletedAgo: [] }, 'it is there, and missed')
  inquiries.take('n1', undefined)
  t.same(fleet(VCENTER, 'n2'), { missed: 0, latched: 0, deletedAgo: [0] }, 'it went after all')
})

t.test(
  'a Node that is deleted counts as such until the watch knows, and for itself not at all',
  async (t) => {
    const { inquiries, fleet, turn } = setUp()
    const question = { ...inquiry().question, nodeUID: 'n1-uid' }
    inquiries.take('n1', { question, ask: false })
    inquiries.deleting(deletion(), 'n1-uid').succeeded()
    turn(5)
    inquiries.take('n1', inquiry({ question }))
    const counted = { missed: 0, latched: 0, deletedAgo: [5] }
    t.same(fleet(VCENTER, 'n2'), counted, 'looked at once more')
    t.same(fleet(VCENTER, 'n1').deletedAgo, [])
    inquiries.deleting(deletion(), 'n1-uid').failed('n1', undefined)
    t.same(fleet(VCENTER, 'n2'), counted, 'that it is gone already takes nothing back')
  },
)

t.test(
  'for how long a VM is missed, and that one whose Node is being deleted does not come back',
  async (t) => {
    const { inquiries, turn } = setUp()
    t.equal(inquiries.missedFor('n1'), 0)
    inquiries.take('n1', inquiry())
    t.equal(inquiries.missedFor('n1'), 0, 'it has just vanished')
    turn(1000)
    t.equal(inquiries.missedFor('n1'), 1000)
    const attempt = inquiries.deleting(deletion(), 'uid')
    inquiries.take('n1', { question: inquiry().question, ask: false })
    t.equal(inquiries.missedFor('n1'), Number.POSITIVE_INFINITY)
    attempt.failed('n1', undefined)
    t.equal(inquiries.missedFor('n1'), 0, 'it was seen again')
  },
)

t.test('those that the brake has closed for are held while nobody can ask about them', async (t) => {
  const { inquiries } = setUp()
  const latched = ['n1', 'n2'].map((name) => ({ name, vCenter: 'vc1', group: VCENTER }))
  inquiries.take('n1', inquiry({ absence: absent({ latched: true }) }))
  t.match(inquiries.fleet(VCENTER, 'n3', latched), { latched: 2 })
  t.match(inquiries.fleet(VCENTER, 'n1', latched), { latched: 1 }, 'without itself')
  t.match(inquiries.fleet('two', 'n3', latched), { latched: 0 })
  t.same(inquiries.missing('vc1', latched), { missing: 1, brakeClosed: true })
  t.same(inquiries.missing('vc2', latched), { missing: 0, brakeClosed: false })
})

t.test('for how long few are missed begins anew with each moment in which many are', async (t) => {
  const { inquiries, turn } = setUp()
  const few = () => inquiries.fleet(VCENTER, 'n9', []).fewFor
  t.equal(few(), 0)
  inquiries.take('n1', inquiry())
  turn(100)
  t.equal(few(), 100)
  inquiries.take('n2', inquiry({ absence: absent({ few: false }) }))
  turn(100)
  t.equal(few(), 0)
  inquiries.take('n2', inquiry())
  turn(10)
  inquiries.take('n1', inquiry())
  t.equal(few(), 10)
})

t.test('Nodes that went while nobody watched are forgotten, what was deleted is not', async (t) => {
  const { inquiries } = setUp()
  inquiries.take('n1', inquiry())
  inquiries.take('n2', inquiry())
  inquiries.deleting(deletion(), 'gone')
  inquiries.resume((name) => name === 'n2')
  t.same(inquiries.fleet(VCENTER, 'n3', []).pendingSince, [])
  t.match(inquiries.fleet(VCENTER, 'n3', []), { absentSince: [{ since: 0 }], deleted: [{ absentSince: 7 }] })
  t.equal(inquiries.question('n1'), undefined)
})

t.test('what was answered to another configuration counts, and is asked once more', async (t) => {
  const { inquiries, answer } = setUp()
  inquiries.take('n1', inquiry())
  answer('n1')
  const { answeredAt } = inquiries.evidence('n1') ?? {}
  const fresh = () => {
    const evidence = inquiries.evidence('n1')
    return answeredAt && evidence && isFresh(evidence, answeredAt)
  }
  t.equal(fresh(), true)
  inquiries.resume(() => true)
  t.match(inquiries.evidence('n1')?.absent, { times: 1 })
  t.equal(fresh(), false)
  answer('n1')
  t.match(inquiries.evidence('n1')?.absent, { times: 2 })
  t.equal(fresh(), true)
})

t.test('since when a VM is missed is known of the same Node alone', async (t) => {
  const { inquiries } = setUp()
  inquiries.take('n1', inquiry({ absence: absent({ since: 42 }) }))
  t.equal(inquiries.absentSince('n1', 'uid'), 42)
  t.equal(inquiries.absentSince('n1', 'other'), undefined)
})
