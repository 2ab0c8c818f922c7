import t from 'tap'
import { boundVM } from '../../test/fixtures/facts.ts'
import { answerAt, probe } from '../../test/fixtures/probes.ts'
import type { Inquiry } from '../decide/decision.ts'
import { createInquiries } from './inquiries.ts'

const VCENTER = boundVM().vCenterInstanceUUID

function inquiry(changes: Partial<Inquiry> = {}, vm = boundVM()): Inquiry {
  return {
    question: { nodeUID: 'uid', vm, lifeSign: 'a', volumes: false },
    ask: true,
    missed: true,
    braked: false,
    ...changes,
  }
}

function setUp() {
  const asked: string[] = []
  let uptime = 0
  const inquiries = createInquiries({ ask: (name) => asked.push(name), uptime: () => uptime })
  const answer = (name: string, { question } = inquiry()) =>
    inquiries.answer(name, question, answerAt(uptime, [probe()]))
  return { inquiries, asked, answer, turn: (ms: number) => (uptime += ms) }
}

t.test('what is asked for is asked, and what is answered is kept as long as anybody wants it', async (t) => {
  const { inquiries, asked, answer } = setUp()
  answer('n1')
  t.equal(inquiries.evidence('n1'), undefined, 'nobody has asked')
  inquiries.take('n1', inquiry())
  t.same(asked, ['n1'])
  answer('n1')
  inquiries.take('n1', inquiry({ ask: false }))
  t.same(asked, ['n1'])
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
  const { inquiries, turn } = setUp()
  inquiries.take('n1', inquiry())
  inquiries.take('n2', inquiry({ braked: true }))
  inquiries.take('off', inquiry({ missed: false }))
  inquiries.take('elsewhere', inquiry({}, boundVM({ vCenter: 'vc2', vCenterInstanceUUID: 'two' })))
  t.same(inquiries.fleet(VCENTER, 'n1'), { missed: 1, braked: 1, deletedAgo: [] })
  t.same(inquiries.fleet(VCENTER, 'n2'), { missed: 1, braked: 0, deletedAgo: [] })
  t.same(inquiries.missing('vc1'), { missing: 2, brakeClosed: true })
  t.same(inquiries.missing('vc2'), { missing: 1, brakeClosed: false })

  inquiries.deleting(VCENTER, 'gone-1')
  turn(30_000)
  inquiries.deleting(VCENTER, 'gone-2')
  turn(29_999)
  t.same(inquiries.fleet(VCENTER, 'n1').deletedAgo, [59_999, 29_999])
  t.same(inquiries.fleet('two', 'n1').deletedAgo, [])
})

t.test('a deletion that came to nothing is none, and a refusal is remembered for a while', async (t) => {
  const { inquiries, turn } = setUp()
  inquiries.take('n1', inquiry())
  inquiries.deleting(VCENTER, 'gone')
  turn(1000)
  inquiries.deleting(VCENTER, 'uid').failed('n1', undefined)
  t.same(inquiries.fleet(VCENTER, 'n1').deletedAgo, [1000])
  t.equal(inquiries.refusal('n1'), undefined)
  inquiries.deleting(VCENTER, 'uid').failed('n1', 'a webhook will not have it')
  t.equal(inquiries.refusal('n1'), 'a webhook will not have it')
  turn(300_000)
  t.equal(inquiries.refusal('n1'), undefined, 'it is tried again')
  inquiries.deleting(VCENTER, 'uid').failed('n1', 'again')
  inquiries.take('n1', undefined)
  t.equal(inquiries.refusal('n1'), undefined, 'the VM is back')
})

t.test('a Node whose deletion was left without an answer, again and again, counts once', async (t) => {
  const { inquiries } = setUp()
  const looked = (missed: boolean) =>
    inquiries.take('n1', inquiry({ question: { ...inquiry().question, nodeUID: 'n1-uid' }, missed }))
  for (let attempt = 0; attempt < 3; attempt++) {
    looked(true)
    inquiries.deleting(VCENTER, 'n1-uid')
    looked(false)
  }
  t.same(inquiries.fleet(VCENTER, 'n2'), { missed: 0, braked: 0, deletedAgo: [0] }, 'under way')
  t.same(inquiries.fleet(VCENTER, 'n1').deletedAgo, [], 'not for itself, which is there')
  looked(true)
  t.same(inquiries.fleet(VCENTER, 'n2'), { missed: 1, braked: 0, deletedAgo: [] }, 'it is there, and missed')
  inquiries.take('n1', undefined)
  t.same(inquiries.fleet(VCENTER, 'n2'), { missed: 0, braked: 0, deletedAgo: [0] }, 'it went after all')
})

t.test(
  'a Node that is deleted counts as such until the watch knows, and for itself not at all',
  async (t) => {
    const { inquiries, turn } = setUp()
    const question = { ...inquiry().question, nodeUID: 'n1-uid' }
    inquiries.take('n1', inquiry({ question, missed: false }))
    inquiries.deleting(VCENTER, 'n1-uid').succeeded()
    turn(5)
    inquiries.take('n1', inquiry({ question }))
    const counted = { missed: 0, braked: 0, deletedAgo: [5] }
    t.same(inquiries.fleet(VCENTER, 'n2'), counted, 'looked at once more')
    t.same(inquiries.fleet(VCENTER, 'n1').deletedAgo, [])
    inquiries.deleting(VCENTER, 'n1-uid').failed('n1', undefined)
    t.same(inquiries.fleet(VCENTER, 'n2'), counted, 'that it is gone already takes nothing back')
  },
)

t.test('a Node that is being deleted is missed until it is forgotten', async (t) => {
  const { inquiries } = setUp()
  t.equal(inquiries.isMissed('n1'), false)
  inquiries.take('n1', inquiry())
  t.equal(inquiries.isMissed('n1'), true)
  const attempt = inquiries.deleting(VCENTER, 'uid')
  inquiries.take('n1', inquiry({ missed: false }))
  t.equal(inquiries.isMissed('n1'), true, 'its VM did not come back')
  attempt.failed('n1', undefined)
  t.equal(inquiries.isMissed('n1'), false, 'it was seen again')
})
