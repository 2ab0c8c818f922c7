import t from 'tap'
import { fine } from '../../../agent/shared/diagnosis.ts'
import { apiError } from '../../kubernetes/api-error.ts'
import { RESTError } from '../../vcenter/session/rest-interfaces.ts'
import { checkOf, judgeAll, look, lookAll } from './check.ts'

t.test('who refuses to let an account look', async (t) => {
  const refusal = async (error: Error) =>
    look(async () => {
      throw error
    })
  t.match(await refusal(apiError('GET /api/v1/nodes', 403, '')), { denied: true, noPermission: false })
  t.match(await refusal(new RESTError('vc', 'tagging/category', 403)), {
    denied: false,
    noPermission: true,
    message: 'vc answers to tagging/category with HTTP status 403',
  })
  t.match(await refusal(new Error('away')), { denied: false, noPermission: false, message: 'away' })
  t.match(await look(async () => 1), { ok: true, value: 1 })
})

t.test('a check is looked at after the one that it depends on, and blames it', async (t) => {
  const check = checkOf<undefined, { readonly unit: string }>()
  const looked: string[] = []
  const table = {
    alone: check({
      name: 'alone',
      async look() {
        looked.push('alone')
        return 1
      },
      judge: (seen, { unit }) => fine(`${seen} ${unit}`),
    }),
    first: check({
      name: 'first',
      look: async (): Promise<number> => Promise.reject(new Error('away')),
      judge: () => fine('there'),
    }),
    second: check({
      name: 'second',
      after: 'first',
      async look() {
        looked.push('second')
        return 2
      },
      judge: () => fine('there'),
    }),
  }
  const facts = await lookAll(table, undefined, new AbortController().signal)
  t.same(looked, ['alone'])
  t.same(judgeAll(table, facts, { unit: 'm' }, { prefix: 'x: ' }), [
    { check: 'x: alone', status: 'ok', message: '1 m' },
    { check: 'x: first', status: 'fail', message: 'away' },
    { check: 'x: second', status: 'skip', message: 'not checked, because of "x: first"' },
  ])
  const blocked = judgeAll(table, {}, { unit: 'm' }, { blocked: 'API server' })
  t.ok(blocked.every(({ message }) => message.endsWith('because of "API server"')))
})
