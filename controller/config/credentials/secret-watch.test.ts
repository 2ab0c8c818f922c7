import { inspect } from 'node:util'
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { until } from '../../../test/fixtures/until.ts'
import { answer, startApiStub } from '../../kubernetes/testing/api-stub.ts'
import { createLogLines } from '../../kubernetes/testing/log-lines.ts'
import { type SourceState, watchSecret } from './watch-source.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const secret = (name: string, resourceVersion: string, data?: Record<string, string> | null) => ({
  metadata: { name, namespace: 'n', resourceVersion },
  data: data && Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
})
const forbidden = {
  kind: 'Status',
  code: 403,
  reason: 'Forbidden',
  message: 'cannot list resource "secrets"',
}

t.test('one Secret is asked for, and nothing else of it kept', async (t) => {
  let write: (type: string, object: object) => void = () => undefined
  let allowed = false
  let lists = 0
  await using stub = await startApiStub((_, response, url) => {
    if (!allowed) return answer(response, 403, forbidden)
    if (!url.searchParams.has('watch')) {
      lists++
      // An API server that knows no selector.
      return answer(response, 200, {
        metadata: { resourceVersion: '1' },
        items: [secret('other', '1', { 'vc.password': 'other-password' })],
      })
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    write = (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`)
  })
  const states: SourceState[] = []
  const { logger, lines } = createLogLines()
  const end = new AbortController()
  const running = watchSecret({
    namespace: 'n',
    name: 'creds',
    client: stub.client,
    clock: systemClock,
    random: () => 0,
    logger,
    onState: (state) => states.push(state),
  })(end.signal)
  const last = () => states.at(-1)
  const fails = (words: RegExp) =>
    until(`it says ${words}`, () => {
      const state = last()
      return state?.state === 'failed' && words.test(state.message)
    })
  await fails(/may not be read: give the controller the rights to list and watch it.*cannot list resource/)
  allowed = true
  await fails(/does not exist: create it/)
  await until('it is watched', () => stub.requests.some((request) => request.includes('watch=true')))
  const seen = stub.requests.filter((request) => !request.includes('fieldSelector=metadata.name%3Dcreds'))
  t.same(seen, [], 'never without its name')
  t.ok(stub.requests.every((request) => request.startsWith('GET /api/v1/namespaces/n/secrets?')))
  t.equal(lists, 1)
  write('ADDED', secret('creds', '2', { 'vc.username': 'u', 'vc.password': 'hunter', tls: 'hunter-key' }))
  await until('it is there', () => last()?.state === 'read')
  const state = last()
  if (state?.state !== 'read') throw new Error('it was there')
  t.equal(state.data.get('vc.password')?.reveal(), 'hunter')
  t.same([...state.data.keys()], ['vc.username', 'vc.password', 'tls'])
  t.equal(state.data.get('tls'), undefined)
  t.notMatch(inspect(states, { depth: 9 }), /hunter/)
  write('MODIFIED', secret('creds', '3', null))
  await until('it is empty', () => {
    const state = last()
    return state?.state === 'read' && state.data.size === 0
  })
  write('DELETED', secret('creds', '4', {}))
  await fails(/does not exist/)
  end.abort()
  await running
  t.notMatch(JSON.stringify(lines), /hunter|other-password/)
})
