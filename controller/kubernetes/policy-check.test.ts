import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { until } from '../../test/fixtures/until.ts'
import type { PolicyState } from '../types/cluster-state.ts'
import { answer, startApiStub } from './testing/api-stub.ts'
import { startPolicyCheck } from './testing/running-policy-check.ts'

/** Milliseconds between an answer that proves the policy and the next, then between those that do not: half of each ceiling. */
const RETRIES: readonly number[] = [30_000, 500, 1_000, 2_000, 4_000, 8_000]

t.test('answers that a real API server gives only at bad times', async (t) => {
  const denied = {
    kind: 'Status',
    reason: 'Forbidden',
    message: `nodereports.rollcall.dev "x" is forbidden: ValidatingAdmissionPolicy 'own-report.rollcall.dev' with binding 'b' denied request: no`,
  }
  const status = (reason: string, message = '') => ({ kind: 'Status', reason, message })
  const rights = status('Forbidden', 'serviceaccounts "rollcall-agent" is forbidden: cannot impersonate')
  const cases: {
    what: string
    answers: [number, object][]
    is: PolicyState['state']
    message?: RegExp
    /** Milliseconds between the first and the second answer, and so on; a minute unless given. */
    apart?: readonly number[]
    /** How often the state changed; once at most where nothing is said. */
    changes?: number
  }[] = [
    { what: 'none yet', answers: [[503, {}]], is: 'pending' },
    { what: 'no credential', answers: [[401, status('Unauthorized')]], is: 'pending' },
    { what: 'too many', answers: [[429, status('TooManyRequests')]], is: 'pending' },
    {
      what: 'a policy that has not been read',
      answers: [[403, status('Forbidden', 'not yet ready to handle request')]],
      is: 'pending',
    },
    {
      what: 'the schema',
      answers: [[422, status('Invalid')]],
      is: 'not-in-force',
      message: /apply its crd\.yaml/,
    },
    { what: 'success', answers: [[201, {}]], is: 'not-in-force', message: /may be forged/ },
    {
      what: 'a passing outage',
      answers: [
        [403, denied],
        [500, {}],
      ],
      is: 'in-force',
    },
    {
      what: 'a passing lack of rights',
      answers: [
        [403, denied],
        [403, rights],
        [403, denied],
      ],
      is: 'in-force',
    },
    {
      what: 'an API server that starts slowly, for less than ten seconds',
      answers: [[403, denied], ...Array<[number, object]>(5).fill([403, rights]), [403, denied]],
      apart: RETRIES,
      is: 'in-force',
    },
    {
      what: 'an API server that starts twice, and says nothing in between',
      answers: [
        [403, denied],
        [403, rights],
        ...Array<[number, object]>(4).fill([503, {}]),
        [403, rights],
        [403, denied],
      ],
      apart: [...RETRIES, 15_000],
      is: 'in-force',
    },
    {
      what: 'a lasting lack of rights',
      answers: [[403, denied], ...Array<[number, object]>(6).fill([403, rights])],
      apart: RETRIES,
      is: 'not-in-force',
      message: /is not allowed to impersonate/,
      changes: 2,
    },
    {
      what: 'success after proof',
      answers: [
        [403, denied],
        [201, {}],
      ],
      is: 'not-in-force',
      message: /may be forged/,
      changes: 2,
    },
    {
      what: 'a policy of a like name',
      answers: [[403, status('Forbidden', denied.message.replace('own-report', 'not-own-report'))]],
      is: 'not-in-force',
      message:
        /^whether .* is unknown: the policy not-own-report\.rollcall\.dev denied .* exempt dry runs of NodeReports/,
    },
    {
      what: 'a webhook of somebody else',
      answers: [[403, status('Forbidden', 'admission webhook "guard.example.com" denied the request: no')]],
      is: 'not-in-force',
      message:
        /^whether .* is unknown: the admission webhook guard\.example\.com denied .* by kube-system\/rollcall-agent;/,
    },
    {
      what: 'a webhook that denies by a code of its own',
      answers: [
        [500, status('', 'admission webhook "guard.example.com" denied the request without explanation')],
      ],
      is: 'not-in-force',
      message: /guard\.example\.com denied/,
    },
    {
      what: 'a webhook that denies in the words of the policy',
      answers: [[403, status('Forbidden', `admission webhook "w" denied the request: ${denied.message}`)]],
      is: 'not-in-force',
      message: /the admission webhook w denied/,
    },
  ]
  for (const { what, answers, is, message, apart = [], changes = is === 'pending' ? 0 : 1 } of cases) {
    const clock = createHandClock()
    await using stub = await startApiStub((_, response) => {
      const [code, body] = answers[Math.min(stub.requests.length, answers.length) - 1] ?? [500, {}]
      answer(response, code, body)
    })
    await using check = startPolicyCheck(stub.client, () => undefined, clock)
    for (let asked = 1; asked <= answers.length; asked++) {
      await until(`${what} was asked`, () => stub.requests.length >= asked && clock.sleepers > 0)
      if (asked < answers.length) await clock.turn(apart[asked - 1] ?? 60_000)
    }
    const state = check.state()
    t.equal(state.state, is, what)
    t.equal(check.states.length, changes, `${what} changes`)
    if (state.state === 'not-in-force') t.match(state.message, message ?? /never/, what)
  }
})

t.test('it asks every 20 seconds at the latest while the policy is in force', async (t) => {
  const clock = createHandClock()
  let code = 201
  const message = `ValidatingAdmissionPolicy 'own-report.rollcall.dev' with binding 'b' denied request: no`
  await using stub = await startApiStub((_, response) => {
    answer(response, code, { kind: 'Status', message, reason: 'Forbidden' })
  })
  const asked = async (count: number) => {
    await until(`it has asked ${count} times`, () => stub.requests.length >= count && clock.sleepers > 0)
    t.equal(stub.requests.length, count)
  }
  // Without chance, half of each ceiling.
  await using _ = startPolicyCheck(stub.client, () => undefined, clock)
  await asked(1)
  for (const [index, wait] of [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000].entries()) {
    await clock.turn(wait - 1)
    await asked(index + 1)
    await clock.turn(1)
    await asked(index + 2)
  }
  code = 403
  await clock.turn(15_000)
  await asked(9)
  await clock.turn(9_999)
  await asked(9)
  code = 201
  await clock.turn(1)
  await asked(10)
  await clock.turn(500)
  await asked(11)
})

t.test('a start without an answer is told after two minutes, and what is known is kept', async (t) => {
  const clock = createHandClock()
  let code = 500
  const message = `ValidatingAdmissionPolicy 'own-report.rollcall.dev' with binding 'b' denied request: no`
  await using stub = await startApiStub((_, response) => {
    answer(response, code, { kind: 'Status', message: code === 500 ? 'failed calling webhook' : message })
  })
  await using check = startPolicyCheck(stub.client, () => undefined, clock)
  const next = async (ms: number) => {
    const count = stub.requests.length
    await clock.turn(ms)
    await until('it has asked again', () => stub.requests.length > count && clock.sleepers > 0)
  }
  await until('it has asked', () => stub.requests.length === 1 && clock.sleepers > 0)
  for (let turned = 0; turned < 100_000; turned += 15_000) await next(15_000)
  t.same(check.state(), { state: 'pending' })
  await next(15_000)
  await next(15_000)
  t.match(check.state(), { state: 'not-in-force', message: /failed calling webhook.*admission webhooks/ })
  code = 403
  await next(15_000)
  t.same(check.state(), { state: 'in-force' })
  code = 500
  for (let turned = 0; turned < 300_000; turned += 60_000) await next(60_000)
  t.same(check.state(), { state: 'in-force' }, 'no answer takes nothing away')
})

t.test('a report that cannot be changed in time keeps no other from proving the policy', async (t) => {
  const clock = createHandClock()
  const message = `ValidatingAdmissionPolicy 'own-report.rollcall.dev' with binding 'b' denied request: no`
  let slow = ['a']
  await using stub = await startApiStub((request, response, { pathname }) => {
    const isSlow = request.method === 'PATCH' && slow.some((name) => pathname.endsWith(`/${name}`))
    answer(response, isSlow ? 504 : 403, { kind: 'Status', message: isSlow ? 'too slow' : message })
  })
  const sample = (without: ReadonlySet<string>) => ['a', 'b'].find((name) => !without.has(name))
  await using check = startPolicyCheck(stub.client, sample, clock)
  const changed = async (count: number) => {
    const names = () => stub.requests.flatMap((each) => /^PATCH .*\/(\w)\?/.exec(each)?.[1] ?? [])
    await until(`it has changed ${count}`, () => names().length >= count && clock.sleepers > 0)
    return names().join(' ')
  }
  t.equal(await changed(1), 'a')
  t.same(check.state(), { state: 'pending' })
  await clock.turn(500)
  t.equal(await changed(2), 'a b')
  t.same(check.state(), { state: 'in-force' })
  await clock.turn(10_000)
  t.equal(await changed(3), 'a b b', 'the slow one is left alone')
  slow = ['b']
  await clock.turn(10_000)
  t.equal(await changed(4), 'a b b b')
  await clock.turn(500)
  t.equal(await changed(5), 'a b b b a', 'each has another try when no other is left')
  t.same(check.states, [{ state: 'in-force' }])
})

t.test('a report that another plugin guards keeps no other from proving the policy', async (t) => {
  const clock = createHandClock()
  const message = `ValidatingAdmissionPolicy 'own-report.rollcall.dev' with binding 'b' denied request: no`
  const guard = 'admission webhook "guard.example.com" denied the request: protected'
  let guarded = ['a', 'b']
  await using stub = await startApiStub((request, response, { pathname }) => {
    const isGuarded = request.method === 'PATCH' && guarded.some((name) => pathname.endsWith(`/${name}`))
    answer(response, 403, { kind: 'Status', reason: 'Forbidden', message: isGuarded ? guard : message })
  })
  const all = ['a', 'b', 'c', 'd']
  const sample = (without: ReadonlySet<string>) => all.find((name) => !without.has(name))
  await using check = startPolicyCheck(stub.client, sample, clock)
  const changed = async (count: number) => {
    const names = () => stub.requests.flatMap((each) => /^PATCH .*\/(\w)\?/.exec(each)?.[1] ?? [])
    await until(`it has changed ${count}`, () => names().length >= count && clock.sleepers > 0)
    return names().join(' ')
  }
  t.equal(await changed(3), 'a b c', 'in one check')
  t.same(check.states, [{ state: 'in-force' }])
  await clock.turn(10_000)
  t.equal(await changed(4), 'a b c c')
  guarded = all
  await clock.turn(10_000)
  t.equal(await changed(7), 'a b c c c d a', 'and not all of them at once')
  t.same(check.states, [{ state: 'in-force' }], 'it is believed after ten seconds')
  for (const [at, wait] of [500, 1_000, 2_000, 4_000, 8_000].entries()) {
    await clock.turn(wait)
    await changed(10 + 3 * at)
  }
  t.match(check.states.at(-1), { state: 'not-in-force', message: /^whether .* guard\.example\.com denied/ })
})

t.test('one report that is guarded is tried once in each check', async (t) => {
  const clock = createHandClock()
  const message = `ValidatingAdmissionPolicy 'own-report.rollcall.dev' with binding 'b' denied request: no`
  const other = `ValidatingAdmissionPolicy 'guard' with binding 'b' denied request: no`
  await using stub = await startApiStub((request, response) => {
    answer(response, 403, { kind: 'Status', message: request.method === 'PATCH' ? other : message })
  })
  await using check = startPolicyCheck(stub.client, (without) => (without.has('a') ? undefined : 'a'), clock)
  await until('it has asked', () => stub.requests.length >= 2 && clock.sleepers > 0)
  t.equal(stub.requests.length, 2)
  t.match(check.state(), { state: 'not-in-force', message: /the policy guard denied/ })
})
