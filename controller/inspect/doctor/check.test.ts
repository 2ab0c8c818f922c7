import t from 'tap'
import { apiError } from '../../kubernetes/api-error.ts'
import { RESTError } from '../../vcenter/session/rest.ts'
import { look } from './check.ts'

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
