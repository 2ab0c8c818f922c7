import t from 'tap'
import { node, report } from '../../../../test/fixtures/facts.ts'
import { createAgentContacts } from './agent-contacts.ts'

const READY = node()
const AWAY = node({ ready: { status: 'Unknown', lastHeartbeatTime: '' } })
const at = (reportedAt: string | undefined, uid = 'a') => report({ reportedAt, uid })

t.test('silence is counted from what this process has seen', async (t) => {
  const { of, forget } = createAgentContacts()
  t.same(of(at('old'), READY, 1_000), { silentFor: 0, isHeard: false })
  t.same(of(at('old'), READY, 5_000), { silentFor: 4_000, isHeard: false })
  t.same(of(at('new'), READY, 6_000), { silentFor: 0, isHeard: true })
  t.same(of(at('new'), READY, 7_000), { silentFor: 1_000, isHeard: true })
  t.same(of(at('new', 'b'), READY, 8_000), { silentFor: 0, isHeard: true }, 'another report of that name')
  t.equal(of(at(undefined), READY, 9_000), undefined)
  t.equal(of(undefined, READY, 9_000), undefined)
  forget('worker-1')
  t.same(of(at('new'), READY, 9_000), { silentFor: 0, isHeard: false })
})

t.test('each is found silent once, after as long as its agent may be', async (t) => {
  const { of, fallenSilent, forget } = createAgentContacts()
  const MINUTE = 60_000
  const { spec } = at('old')
  if (!spec.ok) throw new Error('it is valid')
  const seldom = {
    ...at('old'),
    name: 'seldom',
    spec: { ok: true, value: { ...spec.value, refreshSeconds: 1_800 } },
  } as const
  of(at('old'), READY, 0)
  of(seldom, READY, 0)
  of({ ...at('old'), name: 'gone' }, READY, 0)
  forget('gone')
  t.same([...fallenSilent(10 * MINUTE)], [])
  t.same([...fallenSilent(11 * MINUTE)], ['worker-1'])
  t.same([...fallenSilent(12 * MINUTE)], [])
  of(at('new'), READY, 20 * MINUTE)
  t.same([...fallenSilent(200 * MINUTE)], ['worker-1', 'seldom'])
})

t.test('of a machine that comes back it is counted from then on', async (t) => {
  const { of } = createAgentContacts()
  of(at('old'), READY, 0)
  of(at('new'), READY, 1_000)
  t.same(of(at('new'), AWAY, 2_000), { silentFor: 1_000, isHeard: true })
  t.same(of(at('new'), READY, 900_000), { silentFor: 0, isHeard: false }, 'its agent has not reported yet')
  t.same(of(at('new'), READY, 901_000), { silentFor: 1_000, isHeard: false })
  t.same(of(at('newer'), READY, 902_000), { silentFor: 0, isHeard: true })
  t.same(of(at('newest'), AWAY, 903_000), { silentFor: 0, isHeard: true }, 'it may be the first to come back')
})
