import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { createLogLines } from '../../kubernetes/testing/log-lines.ts'
import { aborted } from '../../lib/tasks.ts'
import type { Config, VCenterCredentials } from '../config.ts'
import { Secret } from '../secret.ts'
import { load } from '../testing/load.ts'
import { createCredentialWatch } from './credential-watch.ts'
import type { SourceState } from './watch-source.ts'

const GLOBAL = 'global: {secretName: s, secretNamespace: n}\n'
const ONE = `${GLOBAL}vcenter: {vc1: {server: a}}\n`
const TWO = `${GLOBAL}vcenter: {vc1: {server: a}, vc2: {server: b}}\n`
const GONE: SourceState = { state: 'failed', message: 'does not exist' }

const read = (entries: Record<string, string>): SourceState => ({
  state: 'read',
  data: new Map(Object.entries(entries).map(([key, value]) => [key, new Secret(value)])),
})
const creds = (password: string, user = 'u') => read({ 'a.username': user, 'a.password': password })

/** A watch over sources that the test tells of; `tell` waits until it has settled. */
async function open(t: Test, text: string) {
  const clock = createHandClock()
  const { logger, lines } = createLogLines()
  let config: Config = (await load(text)).config
  let end = new AbortController()
  const following = new Map<string, (state: SourceState) => void>()
  const nameOf = (source: VCenterCredentials) => (source.kind === 'secret' ? source.name : source.path)
  const watch = createCredentialWatch({
    configuration: { current: () => ({ config, superseded: end.signal }) },
    watchSource: (source, onState) => async (signal) => {
      following.set(nameOf(source), onState)
      await aborted(signal)
      following.delete(nameOf(source))
    },
    clock,
    logger,
  })
  const stop = new AbortController()
  const running = watch.run(stop.signal)
  t.teardown(async () => {
    stop.abort()
    await running
  })
  await clock.turn(2_000)
  return {
    watch,
    lines,
    clock,
    following,
    async tell(state: SourceState, source = 's') {
      following.get(source)?.(state)
      await clock.turn(2_000)
    },
    async configure(text: string) {
      config = (await load(text)).config
      const before = end
      end = new AbortController()
      before.abort()
      await clock.turn(2_000)
    },
    /** `user/password`, or why there is none. */
    vCenters: () =>
      watch
        .current()
        .config.vCenters.map(({ user, password, noCredential }) =>
          noCredential === undefined
            ? `${user}/${password.reveal()}`
            : noCredential.state === 'failed'
              ? noCredential.message
              : noCredential.state,
        ),
  }
}

t.test('a session manager comes in place of a password, has another token, and goes', async (t) => {
  const { watch, lines, tell, vCenters } = await open(t, ONE)
  const manager = (token: string, url = 'https://m/s') =>
    read({ 'a.vc-session-manager-url': url, 'a.vc-session-manager-token': token })
  const now = () => watch.current().config.vCenters[0]
  const changes = () => lines.splice(0).map(({ changed }) => changed)
  await tell(creds('hunter1'))
  t.same(changes(), [['user', 'password']])
  await tell(manager('hunter2'))
  t.match(now(), {
    user: '',
    sessionManager: 'https://m/s',
    userSource: 'the Secret n/s under "a.vc-session-manager-url"',
  })
  t.same(vCenters(), ['/hunter2'])
  t.same(changes(), [['session manager', 'token']])
  const before = watch.current()
  await tell(manager('hunter3'))
  t.ok(before.superseded.aborted)
  t.same(changes(), [['token']])
  await tell(manager('hunter3', 'https://m/other'))
  t.equal(now()?.sessionManager, 'https://m/other')
  t.same(changes(), [['session manager']])
  await tell(manager('hunter3', 'hunter'))
  t.equal(now()?.sessionManager, 'https://m/other', 'the last one stays')
  t.same(changes(), [undefined])
  await tell(creds('hunter1'))
  t.equal(now()?.sessionManager, undefined)
  t.same(vCenters(), ['u/hunter1'])
  t.notMatch(inspect([lines, watch.remarks()], { depth: 9 }), /hunter/)
})

t.test('white space that surrounds a password is named once, and kept for messages', async (t) => {
  const { watch, lines, tell } = await open(t, ONE)
  const warnings = () => lines.splice(0).flatMap(({ warning }) => (warning === undefined ? [] : [warning]))
  await tell(creds('hunter\r'))
  const said =
    'the Secret n/s has a password under "a.password" that begins or ends with a carriage return, which is a part of it: remove it unless you want that'
  t.same(warnings(), [said])
  await tell(creds('hunter\r'))
  t.same(warnings(), [])
  t.equal(watch.current().config.vCenters[0]?.oddity, said)
  await tell(creds('hunter'))
  t.same(warnings(), [])
  t.equal(watch.current().config.vCenters[0]?.oddity, undefined)
})

t.test('it comes, changes and goes', async (t) => {
  const { watch, lines, tell, vCenters } = await open(t, ONE)
  t.same(vCenters(), ['pending'])
  t.same([...watch.usable()], [['vc1', false]])
  t.same([lines, watch.remarks()], [[], []])
  await tell(GONE)
  t.same(vCenters(), ['no user and password for a: the Secret n/s does not exist'])
  t.same(watch.remarks(), ['vCenter vc1: its Secret or folder gives no user and password; see the log'])
  t.match(watch.troubles(), [
    { message: /^vCenter vc1: .*: no user and password for a: the Secret n\/s does not exist$/ },
  ])
  const before = watch.current()
  await tell(creds('hunter1'))
  t.ok(before.superseded.aborted)
  t.same(vCenters(), ['u/hunter1'])
  t.same([...watch.usable(), ...watch.remarks()], [['vc1', true]])
  const taken = watch.current()
  t.equal(taken.config.vCenters[0]?.userSource, 'the Secret n/s under "a.username"')
  await tell(creds('hunter1'))
  await tell(read({ 'a.username': 'u', 'a.password': 'hunter1', 'b.password': 'x' }))
  await tell(GONE)
  t.notOk(taken.superseded.aborted, 'nothing else is a change')
  t.same(vCenters(), ['u/hunter1'])
  t.same([...watch.usable()], [['vc1', false]])
  t.match(watch.remarks(), [/gives no user and password; the last ones stay in use; see the log/])
  await tell(read({ 'a.username': 'u' }))
  t.same(vCenters(), ['u/hunter1'])
  await tell(creds('hunter2', 'v'))
  t.ok(taken.superseded.aborted)
  t.same(vCenters(), ['v/hunter2'])
  t.match(lines, [
    { level: 40, msg: 'no credential', vCenter: 'vc1', error: /n\/s does not exist/ },
    { level: 30, msg: 'credential loaded', source: 'the Secret n/s', changed: ['user', 'password'] },
    { level: 40, msg: 'no credential any more; the last one stays in use' },
    { level: 40, error: /has no key "a.password", only "a.username"/ },
    { msg: 'credential loaded', changed: ['user', 'password'] },
  ])
  t.equal(lines.length, 5)
  t.notMatch(`${JSON.stringify(lines)}${inspect(watch.current(), { depth: 9 })}`, /hunter/)
})

t.test('one Secret for two, of which one is not in it', async (t) => {
  const { tell, vCenters, following, watch } = await open(t, TWO)
  t.equal(following.size, 1)
  await tell(creds('p'))
  t.match(vCenters(), ['u/p', /^no user and password for b: the Secret n\/s has no key "b.username", only/])
  t.same(
    [...watch.usable()],
    [
      ['vc1', true],
      ['vc2', false],
    ],
  )
})

t.test('a Secret that never rests is loaded every two seconds', async (t) => {
  const { following, watch, clock } = await open(t, ONE)
  let taken = 0
  let seen = watch.current().config
  for (let i = 0; i < 100; i++) {
    following.get('s')?.(creds(`p${i}`))
    await clock.turn(100)
    const { config } = watch.current()
    if (config !== seen) taken++
    seen = config
  }
  t.ok(taken >= 5 && taken <= 6, `${taken} times in ten seconds`)
})

t.test('one that goes on so for an hour starts the work once a minute', async (t) => {
  const { following, watch, clock } = await open(t, TWO)
  let taken = 0
  let seen = watch.current().config
  const change = async (i: number) => {
    const names = Object.fromEntries([[`k${i}`, 'x']])
    following.get('s')?.(i % 2 === 0 ? creds(`p${i}`) : read({ 'a.username': 'u', ...names }))
    await clock.turn(2_000)
    if (watch.current().config !== seen) taken++
    seen = watch.current().config
  }
  for (let i = 0; i < 1_800; i++) await change(i)
  t.ok(taken >= 60 && taken <= 72, `${taken} times in an hour`)
  await clock.turn(600_000)
  taken = 0
  for (let i = 0; i < 5; i++) await change(2 * i)
  t.equal(taken, 5, 'a person is not kept waiting')
})

t.test('what another server had is not said to be in use', async (t) => {
  const { configure, tell, watch, vCenters } = await open(t, ONE)
  await tell(creds('p'))
  await configure(ONE.replace('server: a', 'server: c'))
  t.match(vCenters(), [/^no user and password for c/])
  t.match(watch.remarks(), [/gives no user and password; see the log$/])
  t.same([...watch.usable()], [['vc1', false]])
})

t.test('another configuration: what is known goes on, for the same server only', async (t) => {
  const { configure, tell, vCenters, watch, following } = await open(t, ONE)
  await tell(creds('p'))
  const before = watch.current()
  await configure(`${ONE}labels: {zone: z}\n`)
  t.ok(before.superseded.aborted)
  t.same(vCenters(), ['u/p'])
  t.equal(watch.current().config.labels.zone, 'z')
  await configure(ONE.replace('secretName: s', 'secretName: other'))
  t.same([...following.keys()], ['other'])
  await tell(GONE, 'other')
  t.same(vCenters(), ['u/p'], 'until the other Secret is there')
  t.equal(watch.remarks().length, 1)
  await tell(creds('q'), 'other')
  t.same(vCenters(), ['u/q'])
  await configure('vcenter: {vc1: {server: a, user: w, password: r}}')
  t.same(vCenters(), ['w/r'])
  t.same([following.size, [...watch.usable()], watch.remarks()], [0, [], []])
  await configure(ONE)
  t.same(vCenters(), ['w/r'], 'what stood in the file, until the Secret is read')
  await configure(ONE.replace('server: a', 'server: c'))
  t.same(vCenters(), ['pending'])
  await configure(ONE.replace('server: a', 'server: a, port: 8443'))
  t.same(vCenters(), ['pending'], 'another server may listen at another port')
  await configure(ONE)
  t.same(vCenters(), ['w/r'])
})
