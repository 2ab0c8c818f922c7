import t from 'tap'
import { ApiError } from '../../../../agent/shared/api-error.ts'
import { node } from '../../../../test/fixtures/facts.ts'
import { createHandClock } from '../../../../test/fixtures/hand-clock.ts'
import type { NodeWriter, WriteResult } from '../../../kubernetes/node-writer.ts'
import type { Node } from '../../../types/node.ts'
import { createLastingFailures } from './lasting-failures.ts'

const DOWN = new ApiError('failed calling webhook "nodes.example.com"', {
  status: 500,
  reason: 'InternalError',
})

function setUp() {
  const clock = createHandClock()
  const answers: (WriteResult<Node> | Error)[] = []
  const answer = async () => {
    const next = answers.shift() ?? DOWN
    if (next instanceof Error) throw next
    return next
  }
  const unused = () => Promise.reject(new Error('not used here'))
  const writer: NodeWriter = {
    patchNodeStatus: answer,
    patchNode: answer,
    deleteNode: unused,
    createReport: unused,
    patchReportStatus: unused,
  }
  const { watch, forget } = createLastingFailures(clock)
  const patch = (name = 'worker-1', uid = name) =>
    watch(writer)
      .patchNode(name, node({ name, uid }), {})
      .catch((error: unknown) => error)
  return { clock, answers, patch, watch, forget, writer }
}

t.test('a failure that lasts is a refusal, in the words of the API server', async (t) => {
  const { clock, patch } = setUp()
  t.equal(await patch(), DOWN)
  await clock.turn(19_000)
  t.equal(await patch(), DOWN)
  t.equal(await patch('worker-2'), DOWN)
  await clock.turn(1_000)
  const refused = { outcome: 'rejected', message: 'failed calling webhook "nodes.example.com"' }
  t.same(await patch(), refused)
  t.equal(await patch('worker-2'), DOWN, 'each Node by itself')
  t.equal(await patch('worker-1', 'another'), DOWN, 'another Node of that name')
  await clock.turn(1_000)
  t.same(await patch(), refused, 'as long as it lasts')
})

t.test('what differs in numbers alone is said as before', async (t) => {
  const { clock, answers, patch } = setUp()
  const reset = (text: string) => new ApiError(text, { status: 500, reason: 'InternalError' })
  answers.push(reset('read tcp 10.0.0.1:40000->10.0.0.2:443: reset'))
  await patch()
  await clock.turn(20_000)
  answers.push(reset('read tcp 10.0.0.1:51234->10.0.0.2:443: reset'))
  t.match(await patch(), { message: 'read tcp 10.0.0.1:40000->10.0.0.2:443: reset' })
  answers.push(reset('no endpoints'))
  t.match(await patch(), { message: 'no endpoints' })
})

t.test('it begins anew after a success, but not after a conflict', async (t) => {
  const { clock, answers, patch } = setUp()
  await patch()
  await clock.turn(20_000)
  answers.push({ outcome: 'conflict' })
  t.match(await patch(), { outcome: 'conflict' })
  t.match(await patch(), { outcome: 'rejected' })
  answers.push({ outcome: 'written', object: node() })
  t.match(await patch(), { outcome: 'written' })
  t.equal(await patch(), DOWN)
})

t.test('what was done without does not count, nor does one write for another', async (t) => {
  const { clock, patch, watch, forget, writer } = setUp()
  await patch()
  await clock.turn(20_000)
  const addresses = watch(writer).patchNodeStatus('worker-1', node({ uid: 'worker-1' }), { addresses: [] })
  await t.rejects(addresses, DOWN)
  forget('worker-1')
  t.equal(await patch(), DOWN)
})

t.test('no answer is no answer, however long', async (t) => {
  const { clock, answers, patch } = setUp()
  const cut = new Error('socket hang up')
  answers.push(cut, cut)
  t.equal(await patch(), cut)
  await clock.turn(60_000)
  t.equal(await patch(), cut)
})

t.test('an API server that has too much to do refuses nothing, however long', async (t) => {
  const { clock, answers, patch } = setUp()
  const busy = new ApiError('too many requests', { status: 429, reason: 'TooManyRequests' })
  answers.push(busy, busy)
  t.equal(await patch(), busy)
  await clock.turn(60_000)
  t.equal(await patch(), busy)
})
