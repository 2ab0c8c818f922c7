import t from 'tap'
import { liveness, readiness } from './candidate.ts'

type Status = ReturnType<Parameters<typeof readiness>[0]['status']>

function replica(status: Partial<Status>, remarks: readonly string[] = []) {
  return {
    status: () => ({ leading: false, holder: 'b', problem: undefined, ...status }),
    remarks: () => remarks,
  }
}

function engine(problems: readonly string[], remarks: readonly string[] = []) {
  return { problems: () => problems, remarks: () => remarks }
}

t.test('a standby is ready, and says who leads', async (t) => {
  t.same(readiness(replica({}), undefined), { ok: true, text: 'standby; b leads' })
  t.same(readiness(replica({ holder: '' }), undefined), { ok: true, text: 'standby; nobody leads' })
  const { ok, text } = readiness(replica({ holder: undefined }), undefined)
  t.ok(ok)
  t.match(text, /^standby; the leader is unknown: .*; see the log$/)
})

t.test('a leader is ready unless its engine has problems', async (t) => {
  const leads = replica({ leading: true })
  t.same(readiness(leads, engine([])), { ok: true, text: 'leading' })
  t.same(readiness(leads, engine(['a', 'b'])), { ok: false, text: 'a\nb' })
  t.same(readiness(leads, undefined), { ok: true, text: 'leading' }, 'between two engines of one term')
})

t.test('an engine that has not ended yet says nothing of a replica that no longer leads', async (t) => {
  t.same(readiness(replica({}), engine(['a'], ['b'])), { ok: true, text: 'standby; b leads' })
})

t.test('remarks follow, and change nothing', async (t) => {
  const leads = replica({ leading: true }, ['of the replica'])
  t.same(readiness(leads, engine([], ['of the engine'])), {
    ok: true,
    text: 'leading\nof the engine\nof the replica',
  })
  t.same(readiness(leads, engine(['a'], ['b'])), { ok: false, text: 'a\nb\nof the replica' })
  t.same(readiness(replica({}, ['c']), undefined), { ok: true, text: 'standby; b leads\nc' })
})

t.test('a replica is to be restarted where it can no longer take part in the election', async (t) => {
  t.same(liveness(replica({})), { ok: true, text: 'ok' })
  t.same(liveness(replica({ problem: 'leads for too long' })), { ok: false, text: 'leads for too long' })
})
