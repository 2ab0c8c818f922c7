import t from 'tap'
import { ApiError } from '../../agent/shared/result.ts'
import { createListFailures } from './list-failures.ts'

const answer = (status: number) =>
  new ApiError(`GET /x was answered with ${status}`, { status, reason: '', retryAfter: undefined })

t.test('a list that does not come, and a watch that is broken, each with the reason', async (t) => {
  const failures = createListFailures()
  const of = failures.of('NodeReports')
  t.match(failures.notListed('NodeReports', { synced: false }), [
    { message: 'NodeReports are not listed yet' },
  ])
  of(answer(403))
  t.match(failures.notListed('NodeReports', { synced: false }), [
    {
      text: 'NodeReports are not listed yet',
      message: 'NodeReports are not listed yet: GET /x was answered with 403; apply rbac.yaml',
    },
  ])
  t.same(failures.notListed('Nodes', { synced: true }), [])
  t.same(failures.notFollowed('NodeReports', { synced: false }), [], 'that it is not listed is said already')
  of(answer(404))
  t.match(failures.notFollowed('NodeReports', { synced: true }), [
    { text: /not followed, so .* not seen$/, message: /404; the CRD is not there: apply crd\.yaml$/ },
  ])
  t.same(failures.notFollowed('Nodes', { synced: true }), [], 'of another kind')
  of(undefined)
  t.same(failures.notFollowed('NodeReports', { synced: true }), [])
})
