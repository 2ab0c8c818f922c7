import t from 'tap'
import { boundVM } from '../../test/fixtures/facts.ts'
import { probe } from '../../test/fixtures/probes.ts'
import type { Answer, Question } from '../decide/lifecycle/evidence.ts'
import { createLogLines } from '../kubernetes/testing/log-lines.ts'
import { type AskerOptions, createAsker } from './asker.ts'

const QUESTION: Question = { nodeUID: 'uid', vm: boundVM(), others: [], lifeSign: 'a', volumes: true }

function setUp(changes: Partial<AskerOptions> = {}) {
  const answers: Answer[] = []
  const told: string[] = []
  const log = createLogLines()
  let now = 1000
  const end = new AbortController()
  const ask = createAsker(
    {
      inquiries: {
        question: (name) => (name === 'n1' ? QUESTION : undefined),
        answer: (_, __, answer) => answers.push(answer),
      },
      inventories: ['vc1', 'vc2'].map((vCenter) => ({
        probe: async () => {
          now += 5000
          return probe({ vCenter })
        },
      })),
      heartbeatOf: async () => 'beat',
      volumesAttachedTo: async () => 2,
      isInhabited: () => false,
      onAnswer: (name) => told.push(name),
      clock: { now: () => 0, monotonic: () => now, sleep: async () => undefined },
      logger: log.logger,
      ...changes,
    },
    end.signal,
  )
  return { ask, answers, told, log, end }
}

t.test('every vCenter is asked, and both times are known', async (t) => {
  const { ask, answers, told } = setUp()
  t.equal(await ask('n1'), 'done')
  t.match(answers, [
    {
      askedAt: 1000,
      answeredAt: { monotonic: 11_000 },
      heartbeat: 'beat',
      attachments: 2,
      probes: [{ vCenter: 'vc1' }, { vCenter: 'vc2' }],
    },
  ])
  t.same(told, ['n1'])
  await ask('nobody wants to know')
  t.equal(answers.length, 1)
})

t.test('volumes that cannot be counted are not none', async (t) => {
  const { ask, answers, log } = setUp({
    volumesAttachedTo: async () => Promise.reject(new Error('volumeattachments is forbidden')),
  })
  await ask('n1')
  t.match(answers, [{ attachments: undefined, probes: { length: 2 } }])
  t.match(log.lines, [{ node: 'n1', msg: /VolumeAttachments/ }])
})

t.test('a Lease that cannot be read says nothing of the kubelet', async (t) => {
  const { ask, answers, log } = setUp({
    heartbeatOf: async () => Promise.reject(new Error('leases is forbidden')),
  })
  await ask('n1')
  t.match(answers, [{ heartbeat: undefined, attachments: 2 }])
  t.match(log.lines, [{ node: 'n1', msg: /Lease of the kubelet/ }])
})

t.test('after the end nothing is concluded', async (t) => {
  const { ask, answers, told, end } = setUp()
  end.abort()
  await ask('n1')
  t.same([answers, told], [[], []])
})
