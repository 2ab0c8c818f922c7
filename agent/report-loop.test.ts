import t from 'tap'
import { explainFailure } from './failure.ts'
import { createLogger } from './log.ts'
import { run, runOnce } from './report-loop.ts'
import type { Reporter, ReportOutcome } from './send-report.ts'
import { ApiError } from './shared/api-error.ts'
import type { Clock } from './shared/clock.ts'
import type { NodeReportSpec } from './shared/node-report.ts'

const SPEC: NodeReportSpec = {
  nodeUID: 'u',
  agentVersion: '0',
  machine: {},
  interfaces: [],
  tools: { guestinfoReadable: true, guestinfoWritable: true },
  claim: { written: true, reason: 'Written', message: '' },
}
const SENT: ReportOutcome = { ok: true, identity: { nodeName: 'n', nodeUID: 'u' }, spec: SPEC, changed: true }
const DEAD: ReportOutcome = { ok: false, failure: { cause: 'NoConnection', message: 'm', next: 'n' } }
const BUSY: ReportOutcome = {
  ok: false,
  failure: { cause: 'Busy', message: 'm', next: 'n', retryAfter: 7_000 },
}

const LOOK = 30_000
const REFRESH = 600_000

/**
 * Runs the loop on a clock that jumps from sleep to sleep, until `until`.
 *
 * @param outcome of the report at this time, seconds; it may end the loop
 * @param changed whether the machine has changed at this time, seconds
 */
async function simulate(
  until: number,
  outcome: (seconds: number, end: () => void) => ReportOutcome = () => SENT,
  changed: (seconds: number) => boolean = () => false,
  claimPending: (seconds: number) => boolean = () => false,
) {
  const ending = new AbortController()
  let time = 0
  const events: string[] = []
  const lines: { msg: string; cause?: string }[] = []
  const clock: Omit<Clock, 'now'> = {
    monotonic: () => time,
    async sleep(ms) {
      time += ms
      if (time >= until * 1000) ending.abort()
    },
  }
  const reporter: Reporter = {
    async report() {
      events.push(`report ${time / 1000}`)
      return outcome(time / 1000, () => ending.abort())
    },
    changed: () => changed(time / 1000),
    claimPending: () => claimPending(time / 1000),
    async retryClaim() {
      events.push(`claim ${time / 1000}`)
    },
    forget: () => events.push(`forget ${time / 1000}`),
  }
  const log = createLogger({ level: 'info', now: () => 0, write: (line) => lines.push(JSON.parse(line)) })
  const trim = () => events.push(`trim ${time / 1000}`)
  const options = { reporter, clock, random: () => 0.5, log, refresh: REFRESH, look: LOOK, trim }
  await run(options, ending.signal)
  return { events, lines, reports: events.filter((event) => event.startsWith('report')) }
}

t.test('reports at start and at a jittered refresh', async (t) => {
  const { events } = await simulate(1400)
  t.same(events, [
    'forget 0',
    'report 0',
    'trim 0',
    'trim 300',
    'trim 600',
    'forget 637.5',
    'report 637.5',
    'trim 637.5',
    'trim 937.5',
    'trim 1237.5',
    'forget 1275',
    'report 1275',
    'trim 1275',
  ])
})

t.test('reports a change at the next look, without asking the hypervisor', async (t) => {
  const { events } = await simulate(200, undefined, (seconds) => seconds === 90)
  t.same(events, ['forget 0', 'report 0', 'trim 0', 'report 90', 'trim 90'])
})

t.test('retries with growing waits, says so once, and once when it is over', async (t) => {
  const { reports, lines } = await simulate(200, (seconds) => (seconds < 100 ? DEAD : SENT))
  t.same(reports, [
    'report 0',
    'report 0.75',
    'report 2.25',
    'report 5.25',
    'report 11.25',
    'report 23.25',
    'report 45.75',
    'report 68.25',
    'report 90.75',
    'report 113.25',
  ])
  t.match(lines, [
    { msg: 'the report was not sent', cause: 'NoConnection' },
    { msg: 'reports are sent again', cause: 'NoConnection', attempts: 9 },
    { msg: 'report sent' },
  ])
  t.equal(lines.length, 3)
})

t.test('a report that is cut off when the agent ends is not logged as failed', async (t) => {
  const { reports, lines } = await simulate(200, (_, end) => {
    end()
    return DEAD
  })
  t.same(reports, ['report 0'])
  t.same(lines, [])
})

t.test('another cause is said as well', async (t) => {
  const { lines } = await simulate(20, (seconds) => (seconds < 2 ? DEAD : BUSY))
  t.same(
    lines.map((line) => line.cause),
    ['NoConnection', 'Busy'],
  )
})

t.test('a refusal whose words change is said once', async (t) => {
  const refused = (seconds: number): ReportOutcome => {
    const failure = explainFailure(new ApiError('m', { status: 403, reason: `R${seconds}` }), 'publish')
    if (failure === undefined) throw new Error('a refusal is not explained')
    return { ok: false, failure }
  }
  const { lines, reports } = await simulate(100, refused)
  t.ok(reports.length > 5)
  t.match(lines, [{ cause: 'publish/403/R0' }])
  t.equal(lines.length, 1)
})

t.test('waits as long as the server asks', async (t) => {
  const { reports } = await simulate(10, (seconds) => (seconds < 1 ? BUSY : SENT))
  t.same(reports, ['report 0', 'report 7'])
})

t.test('a refresh stays due while nothing can be sent', async (t) => {
  const { reports, events } = await simulate(697.5, (seconds) =>
    seconds < 627.5 || seconds > 667.5 ? SENT : DEAD,
  )
  t.equal(reports.length, 2 + 6)
  t.equal(events.filter((event) => event.startsWith('forget')).length, 2, 'asks the hypervisor once for it')
})

t.test('unreadable facts and a refused claim are said once, and when they are over', async (t) => {
  const broken: ReportOutcome = {
    ...SENT,
    spec: {
      ...SPEC,
      claim: { written: false, reason: 'PermissionDenied', message: 'm' },
      unreadable: [{ fact: 'hostname', reason: 'Empty', message: 'm' }],
    },
  }
  const { lines } = await simulate(2000, (seconds) => (seconds < 1000 ? broken : SENT))
  t.same(
    lines.map((line) => line.msg).filter((message) => message !== 'report sent'),
    ['a fact cannot be read', 'the claim is not written', 'a fact can be read again', 'the claim is written'],
  )
})

t.test('a claim without a nonce is said once, and when it has one', async (t) => {
  const claim = { written: true, reason: 'WithoutNonce', message: 'apply the manifests' }
  const plain: ReportOutcome = { ...SENT, spec: { ...SPEC, claim } }
  const { lines } = await simulate(2000, (seconds) => (seconds < 1000 ? plain : SENT))
  t.match(
    lines.filter(({ msg }) => msg !== 'report sent'),
    [
      { msg: 'the claim is written without a nonce', cause: 'WithoutNonce', reason: 'apply the manifests' },
      { msg: 'the claim is written' },
    ],
  )
})

t.test(
  'a claim that may be written later is tried again, with growing waits, and said at once',
  async (t) => {
    let said = false
    const { events } = await simulate(
      700,
      () => SENT,
      (seconds) => {
        const news = seconds >= 500 && !said
        said ||= news
        return news
      },
      (seconds) => seconds < 500,
    )
    t.same(
      events.filter((event) => !event.startsWith('trim')),
      [
        'forget 0',
        'report 0',
        'claim 3.75',
        'claim 11.25',
        'claim 26.25',
        'claim 56.25',
        'claim 116.25',
        'claim 206.25',
        'claim 296.25',
        'claim 386.25',
        'claim 476.25',
        'report 506.25',
        'forget 637.5',
        'report 637.5',
      ],
    )
  },
)

t.test(
  'a claim is tried again while the API server is away, and a server that asks for a pause gets it',
  async (t) => {
    const away = await simulate(
      60,
      () => DEAD,
      undefined,
      () => true,
    )
    t.ok(away.events.filter((event) => event.startsWith('claim')).length >= 3)
    const { reports } = await simulate(
      30,
      () => BUSY,
      undefined,
      () => true,
    )
    t.same(reports, ['report 0', 'report 7', 'report 14', 'report 21', 'report 28'])
  },
)

t.test('once', async (t) => {
  const log = createLogger({ level: 'error', now: () => 0, write: () => undefined })
  for (const outcome of [SENT, DEAD]) {
    const reporter: Reporter = {
      report: async () => outcome,
      changed: () => true,
      claimPending: () => false,
      retryClaim: async () => undefined,
      forget: () => undefined,
    }
    t.equal(await runOnce({ reporter, log }), outcome.ok)
  }
})
