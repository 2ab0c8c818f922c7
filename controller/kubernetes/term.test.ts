import t from 'tap'
import type { Clock } from '../../agent/shared/clock.ts'
import { createHandClock, type HandClock } from '../../test/fixtures/hand-clock.ts'
import { createLeaderElection, type Term } from './leader-election.ts'
import { createLeaseStub } from './testing/lease-stub.ts'
import { createLogLines } from './testing/log-lines.ts'

const forever = new AbortController().signal

/** A leader that does nothing but be one, and whoever else may want to be. */
async function leader(t: { teardown(fn: () => Promise<void>): unknown }, skew: () => number = () => 0) {
  const hands = createHandClock()
  let frozen = 0
  const clock: Clock = {
    now: () => hands.now() + frozen + skew(),
    monotonic: () => hands.monotonic() + frozen,
    sleep: hands.sleep,
  }
  /** Time passes, and nobody wakes before the clock is advanced again. */
  const freeze = (ms: number) => {
    frozen += ms
  }
  const lease = createLeaseStub(clock)
  const line = lease.line('a')
  const terms: { term: Term; signal: AbortSignal }[] = []
  const election = createLeaderElection({
    lease: line,
    identity: 'a',
    clock,
    random: () => 0,
    logger: createLogLines().logger,
  })
  const stop = new AbortController()
  const ended = election.run(async (term, signal) => {
    terms.push({ term, signal })
    await clock.sleep(Number.MAX_SAFE_INTEGER, signal)
    // Work that takes its time to end.
    await clock.sleep(1_500, forever)
  }, stop.signal)
  t.teardown(async () => {
    stop.abort()
    await hands.turn(30_000)
    await ended
  })
  await hands.turn(0)
  const [first] = terms
  if (first === undefined) throw new Error('it does not lead')
  return { hands, freeze, lease, line, terms, stop, ended, ...first }
}

/** Resolves with the answer, turning the clock until it is there. */
async function soon(hands: HandClock, asked: Promise<boolean>, within = 5_000): Promise<boolean> {
  let answer: boolean | undefined
  void asked.then((came) => {
    answer = came
  })
  for (let passed = 0; answer === undefined && passed <= within; passed += 500)
    await hands.turn(passed && 500)
  if (answer === undefined) throw new Error(`no answer within ${within} ms`)
  return answer
}

function another(transitions: number) {
  return { holder: 'b', durationSeconds: 15, acquireTime: '', renewTime: 'now', transitions }
}

t.test('a confirmation is a write', async (t) => {
  const { hands, lease, term } = await leader(t)
  await hands.turn(1_000)
  const before = lease.writes.length
  t.equal(await soon(hands, term.confirm(forever)), true)
  t.equal(lease.writes.length, before + 1)
  t.match(lease.record, { holder: 'a', renewTime: '2026-01-01T00:00:01.000000Z' })
  await hands.turn(1_000)
  t.equal(lease.writes.length, before + 2, 'the next regular renewal comes when it would have come')
})

t.test('many who ask at once share one write, those who ask later do not', async (t) => {
  const { hands, lease, term } = await leader(t)
  await hands.turn(100)
  const before = lease.writes.length
  t.same(await Promise.all(Array.from({ length: 100 }, () => term.confirm(forever))), Array(100).fill(true))
  await hands.turn(1_000)
  t.equal(await soon(hands, term.confirm(forever)), true)
  t.equal(lease.writes.length, before + 1, 'a second after its start it still counts')
  await hands.turn(100)
  t.equal(await soon(hands, term.confirm(forever)), true)
  t.equal(lease.writes.length, before + 2)
})

for (const state of ['cut', 'hangs', 'deaf'] as const) {
  t.test(`nothing is confirmed over a line that ${state === 'hangs' ? state : `is ${state}`}`, async (t) => {
    const { hands, line, term } = await leader(t)
    await hands.turn(1_000)
    line.state = state
    const began = hands.monotonic()
    t.equal(await soon(hands, term.confirm(forever)), false)
    t.ok(hands.monotonic() - began <= 5_000, 'in time')
    t.ok(term.holds(), 'which is no reason to end the term')
    line.state = 'works'
    await hands.turn(2_000)
    t.equal(await soon(hands, term.confirm(forever)), true)
  })
}

const taken: [string, ReturnType<typeof another>][] = [
  ['another has it', another(1)],
  ['another had it and gave it back', { ...another(1), holder: '', durationSeconds: 1 }],
  ['another had it, and a process that calls itself the same took it back', { ...another(2), holder: 'a' }],
]
for (const [what, record] of taken) {
  t.test(`nothing is confirmed when ${what}`, async (t) => {
    const { hands, lease, term } = await leader(t)
    await hands.turn(1_000)
    lease.record = record
    const before = lease.writes.length
    t.equal(await soon(hands, term.confirm(forever)), false)
    t.equal(lease.writes.length, before, 'and nothing is written')
  })
}

t.test('a Lease that was taken and given back ends the term all the same', async (t) => {
  const { hands, lease, terms, term, signal } = await leader(t)
  await hands.turn(7_000)
  t.equal(term.leadingFor(), 6_000, 'up to the last renewal')
  lease.record = { ...another(1), holder: '', durationSeconds: 1 }
  await hands.turn(3_100)
  t.ok(signal.aborted)
  t.equal(term.leadingFor(), 0)
  t.equal(terms.length, 2)
  t.equal(terms[1]?.term.leadingFor(), 0, 'the next one begins anew')
})

t.test('a Lease that somebody touched is still ours', async (t) => {
  const { hands, lease, term } = await leader(t)
  await hands.turn(1_000)
  if (lease.record) lease.record = { ...lease.record }
  t.equal(await soon(hands, term.confirm(forever)), true)
})

t.test('who was frozen for longer than the renew deadline leads no more', async (t) => {
  const { hands, freeze, lease, term, signal } = await leader(t)
  await hands.turn(121_000)
  t.equal(term.leadingFor(), 120_000)
  const before = lease.writes.length
  // All that waits wakes late, and whoever wakes first sees a Lease that nobody took.
  freeze(60_000)
  t.notOk(term.holds())
  t.equal(term.leadingFor(), 0)
  t.equal(await term.confirm(forever), false)
  t.equal(lease.writes.length, before, 'not even tried')
  await hands.turn(2_000)
  t.ok(signal.aborted)
})

t.test('frozen while the answer was on its way', async (t) => {
  for (const frozen of [3_000, 60_000]) {
    const { hands, freeze, line, term } = await leader(t)
    await hands.turn(1_000)
    const { update } = line
    line.update = async (...call) => {
      const answer = await update(...call)
      freeze(frozen)
      return answer
    }
    t.equal(await soon(hands, term.confirm(forever)), frozen === 3_000, `${frozen} ms`)
  }
})

t.test('suspended, with a monotonic clock that stood still', async (t) => {
  let skew = 0
  const { hands, line, term } = await leader(t, () => skew)
  await hands.turn(1_000)
  const { update } = line
  line.update = async (...call) => {
    const answer = await update(...call)
    skew = 60_000
    return answer
  }
  t.equal(await soon(hands, term.confirm(forever)), false)
  line.update = update
  await hands.turn(2_000)
  t.equal(await soon(hands, term.confirm(forever)), true, 'a clock that was set costs one confirmation')
  skew = -3_600_000
  await hands.turn(2_000)
  t.equal(term.leadingFor(), 4_000, 'and no time in office')
})

t.test('who wakes from suspension writes nothing before it has renewed', async (t) => {
  let skew = 0
  const { hands, term } = await leader(t, () => skew)
  t.equal(term.holds(), true)
  skew = 9_999
  t.equal(term.holds(), true)
  for (const jump of [10_000, 215_000, -10_000]) {
    skew = jump
    t.equal(term.holds(), false, `${jump} ms, of which the monotonic clock knows nothing`)
    t.equal(term.leadingFor(), 0)
  }
  await hands.turn(2_500)
  t.equal(term.holds(), true, 'a clock that was merely set costs until the next renewal')
})

t.test('an answer that comes when the term is over brings nothing back', async (t) => {
  const { hands, line, term, signal } = await leader(t)
  await hands.turn(2_000)
  const { update } = line
  let late: (() => void) | undefined
  line.state = 'cut'
  await hands.turn(9_500)
  line.state = 'works'
  line.update = async (...call) => {
    const answer = await update(...call)
    await new Promise<void>((resolve) => {
      late = resolve
    })
    return answer
  }
  const asked = term.confirm(forever)
  await hands.turn(0)
  t.ok(late, 'sent in the last moment')
  line.state = 'cut'
  await hands.turn(1_000)
  late?.()
  t.equal(await soon(hands, asked), false)
  t.notOk(term.holds())
  t.ok(signal.aborted)
})

t.test('who asks and goes away is answered at once, and costs the others nothing', async (t) => {
  const { hands, line, term } = await leader(t)
  await hands.turn(1_000)
  const { update } = line
  line.update = async (...call) => {
    await hands.sleep(1_000, forever)
    return update(...call)
  }
  const leaving = new AbortController()
  const left = term.confirm(leaving.signal)
  const stays = term.confirm(forever)
  leaving.abort()
  t.equal(await left, false)
  t.equal(await soon(hands, stays), true)
  t.equal(await term.confirm(leaving.signal), false)
})

t.test('confirmations beside the regular renewals, answers in any order', async (t) => {
  const { hands, line, lease, term, terms } = await leader(t)
  const { update } = line
  let writes = 0
  line.update = async (...call) => {
    const answer = await update(...call)
    await hands.sleep([700, 0, 300][writes++ % 3] ?? 0, forever)
    return answer
  }
  const answers: boolean[] = []
  for (let i = 0; i < 100; i++) {
    void term.confirm(forever).then((answer) => answers.push(answer))
    await hands.turn(370)
  }
  await hands.turn(2_000)
  t.equal(terms.length, 1)
  t.match(lease.record, { holder: 'a', transitions: 0 })
  t.same(answers, Array(100).fill(true))
  const last = term.leadingFor()
  t.ok(last > 35_000 && last <= 39_000, `${last}`)
})

t.test('nothing is confirmed after the end', async (t) => {
  const { hands, lease, term, stop, ended } = await leader(t)
  await hands.turn(3_000)
  stop.abort()
  await hands.turn(3_000)
  await ended
  t.equal(await term.confirm(forever), false)
  t.equal(term.leadingFor(), 0)
  t.match(lease.record, { holder: '' })
})
