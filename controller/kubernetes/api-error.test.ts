import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import { apiError, apiStatus, hasStatus } from './api-error.ts'

const status = (fields: object) => JSON.stringify({ kind: 'Status', ...fields })

const bodies: [string, string, string, string][] = [
  ['a Status', status({ reason: 'Conflict', message: 'changed' }), 'Conflict', '409 Conflict: changed'],
  ['a bare Status', status({}), '', '409: 17 characters that are not a Status'],
  ['nothing', '', '', '409: 0 characters that are not a Status'],
  ['HTML', '<html>', '', '409: 6 characters that are not a Status'],
  ['other JSON', '{"reason":"Conflict"}', '', '409: 21 characters that are not a Status'],
  ['a wrong Status', status({ reason: 7 }), '', '409: 28 characters that are not a Status'],
]
for (const [what, body, reason, said] of bodies) {
  t.test(what, async (t) => {
    const error = apiError('GET /x', 409, body)
    t.match(error, {
      status: 409,
      reason,
      message: `GET /x was answered with ${said}`,
      retryAfter: undefined,
    })
  })
}

t.test('a long message is cut', async (t) => {
  t.ok(apiError('GET /x', 500, status({ message: 'x'.repeat(10_000) })).message.length < 600)
  t.ok(apiStatus({ kind: 'Status', message: 'x'.repeat(10_000) }).length < 600)
})

t.test('Retry-After', async (t) => {
  const waits = (header?: string) => apiError('GET /x', 429, '', header).retryAfter
  t.equal(waits('3'), 3_000)
  t.equal(waits('0'), 0)
  for (const header of [undefined, 'soon', '-1', 'Wed, 21 Oct 2026 07:28:00 GMT'])
    t.equal(waits(header), undefined)
})

t.test('a Status within an answer', async (t) => {
  t.equal(
    apiStatus({ kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }),
    '410 Expired: too old',
  )
  t.equal(apiStatus('x'), 'an error that is not a Status')
})

t.test('the status of what was thrown', async (t) => {
  t.ok(hasStatus(new ApiError('x', { status: 404, reason: '' }), 404))
  t.notOk(hasStatus(new ApiError('x', { status: 409, reason: '' }), 404))
  t.notOk(hasStatus(new Error('404'), 404))
  t.notOk(hasStatus(undefined, 404))
})
