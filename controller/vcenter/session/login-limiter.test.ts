import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { Secret } from '../../config/secret.ts'
import { WrongClock } from '../../types/vcenter-login-attempts.ts'
import { attemptsInMemory, testLogins } from '../testing/logins.ts'
import {
  HTTPStatusError,
  LoginRefused,
  NotSentError,
  SessionManagerError,
  VCenterError,
} from '../wire/errors.ts'
import type { LoginInterface } from './login-accounts.ts'
import { RESTError } from './rest-interfaces.ts'

const MINUTE = 60_000
const { signal } = new AbortController()

/** A vCenter that takes one password, and processes that log in to it. */
function setUp() {
  const clock = createHandClock()
  const attempts = attemptsInMemory()
  const sent: string[] = []
  const vCenter = {
    password: 'right',
    /** The reason with which the next attempts fail otherwise, or the error. */
    fails: undefined as ConstructorParameters<typeof VCenterError>[0] | VCenterError | undefined,
    refusesREST: false,
  }
  function start(options: { readonly once?: boolean } = {}) {
    const logins = testLogins({ attempts, clock, random: () => 0.5, ...options })
    const account = { name: 'main', server: 'vc.test', port: 443, user: 'u', password: new Secret('wrong') }
    return {
      account,
      pause: (by: LoginInterface = 'SOAP') => logins.pause(account, by),
      login: (by: LoginInterface = 'SOAP') =>
        logins.login({
          account,
          by,
          signal,
          async send(password) {
            sent.push(`${by} ${password.reveal()}`)
            if (vCenter.fails instanceof VCenterError) throw vCenter.fails
            if (vCenter.fails !== undefined) throw new VCenterError(vCenter.fails, 'fails')
            if (password.reveal() !== vCenter.password || (by === 'REST' && vCenter.refusesREST))
              throw new VCenterError('InvalidLogin', 'refused')
          },
        }),
      use(text: string) {
        account.password = new Secret(text)
      },
    }
  }
  return { clock, attempts, sent, vCenter, start }
}

t.test('the same password: once, then every 15 to 30 minutes, said with the time', async (t) => {
  const { clock, sent, start } = setUp()
  const { login, pause } = start()
  await t.rejects(login(), {
    reason: 'InvalidLogin',
    retryAt: Date.parse('2026-01-01T00:22:30Z'),
    message:
      'vc.test:443 refuses the user u with the configured password; ' +
      'will be retried at 00:23 UTC so that the account is not locked out; check user and password',
  })
  t.equal(pause()?.left, 22.5 * MINUTE)
  for (let minute = 0; minute < 22; minute++) {
    await clock.turn(MINUTE)
    await t.rejects(login(), LoginRefused)
  }
  t.same(sent, ['SOAP wrong'])
  await clock.turn(MINUTE)
  t.equal(pause(), undefined)
  await t.rejects(login(), { message: /at 00:46 UTC/ })
  t.equal(sent.length, 2)
})

t.test('a process that ends promises no other attempt', async (t) => {
  const { sent, start } = setUp()
  const once = () => start({ once: true }).login()
  for (let process = 0; process < 3; process++)
    await t.rejects(once(), {
      message:
        'vc.test:443 refuses the user u with the configured password; ' +
        'this was one attempt, which counts toward locking the account; check user and password',
    })
  await t.rejects(once(), {
    message:
      'no further login to vc.test:443 is attempted as the user u: 3 were refused or got no answer lately; ' +
      'try again after 00:15 UTC so that the account is not locked out; check user and password',
  })
  t.equal(sent.length, 3)
})

t.test('the identity source is back: the same password is taken, and nothing counts any more', async (t) => {
  const { clock, attempts, sent, vCenter, start } = setUp()
  const { login, use, pause } = start()
  use('right')
  vCenter.password = 'none of them'
  await t.rejects(login(), LoginRefused)
  vCenter.password = 'right'
  await t.rejects(login(), LoginRefused)
  await clock.turn(23 * MINUTE)
  await login()
  t.equal(pause(), undefined)
  t.same(sent, ['SOAP right', 'SOAP right'])
  t.same([...attempts.accounts.values()].flat(), [])
})

t.test('another password: at once, up to four in five minutes', async (t) => {
  const { clock, sent, start, vCenter } = setUp()
  const { login, use, pause } = start()
  for (const password of ['a', 'b', 'c', 'd']) {
    use(password)
    t.equal(pause(), undefined)
    await t.rejects(login(), { message: /refuses the user u/ })
    await clock.turn(1_000)
  }
  use(vCenter.password)
  await t.rejects(login(), {
    message:
      'no further login to vc.test:443 is attempted as the user u: 4 were refused or got no answer lately; ' +
      'will be retried at 00:05 UTC so that the account is not locked out; check user and password',
  })
  t.equal(sent.length, 4)
  await clock.turn(5 * MINUTE)
  await login()
})

t.test('a crash loop: three in a quarter of an hour, whichever process makes them', async (t) => {
  const { clock, sent, start } = setUp()
  for (let second = 0; second < 900; second += 10) {
    await t.rejects(start().login(), LoginRefused)
    await clock.turn(10_000)
  }
  t.equal(sent.length, 3)
  await t.rejects(start().login(), LoginRefused)
  t.equal(sent.length, 4)
})

t.test('a process that may not try takes a changed password at once', async (t) => {
  const { sent, start } = setUp()
  for (let process = 0; process < 3; process++) await t.rejects(start().login(), LoginRefused)
  const { login, use } = start()
  await t.rejects(login(), { message: /no further login to \S+ is attempted as the user u/ })
  use('right')
  await login()
  t.same(sent.at(-1), 'SOAP right')
})

t.test('a crash between attempt and answer does not lose the attempt', async (t) => {
  const { attempts, start, vCenter } = setUp()
  for (const reason of ['Unreachable', 'TimedOut', 'MalformedAnswer', 'TimedOut'] as const) {
    vCenter.fails = reason
    await t.rejects(start().login(), { reason, message: 'fails' })
    t.match(
      [...attempts.accounts.values()][0]?.at(-1),
      { refused: false },
      'nor does an answer that was lost',
    )
  }
  t.equal([...attempts.accounts.values()][0]?.length, 4)
  await t.rejects(start().login(), {
    reason: 'TimedOut',
    message: /: 4 got no answer lately; .* at 00:05 UTC .*; check the state of vCenter's services and of its/,
  })
})

t.test(
  'vCenter turns the call away, or is not reached, which says nothing of the password: not counted',
  async (t) => {
    for (const by of ['SOAP', 'REST'] as const) {
      const { attempts, clock, sent, start, vCenter } = setUp()
      const { login } = start()
      for (let i = 0; i < 20; i++) {
        const status = [404, 429, 503][i % 3] ?? 503
        vCenter.fails =
          by === 'SOAP' ? new HTTPStatusError(status, 'fails') : new RESTError('vc', 'session', status)
        await t.rejects(login(by), { reason: 'Unavailable', message: /^fails$|with HTTP status/ })
        vCenter.fails = new NotSentError(new VCenterError('NotVCenter', 'does not speak TLS'))
        await t.rejects(login(by), { reason: 'NotVCenter', message: 'does not speak TLS' })
        await clock.turn(1_000)
      }
      t.equal(sent.length, 40)
      t.same([...attempts.accounts.values()].flat(), [])
    }
  },
)

t.test('a proxy answers in the place of vCenter, which may have refused it: counted', async (t) => {
  for (const error of [
    new HTTPStatusError(500, 'fails'),
    new HTTPStatusError(502, 'fails'),
    new VCenterError('NotVCenter', 'its page'),
    new RESTError('vc', 'session', 500),
    new RESTError('vc', 'session', 408),
  ]) {
    const { clock, sent, start, vCenter } = setUp()
    const { login } = start()
    vCenter.fails = error
    const by = error instanceof RESTError ? 'REST' : 'SOAP'
    for (let second = 0; second < 290; second += 10) {
      await login(by).catch(() => undefined)
      await clock.turn(10_000)
    }
    t.equal(sent.length, 4, error.message)
  }
})

t.test('what cannot be remembered is not tried', async (t) => {
  const { attempts, sent, start } = setUp()
  const { login, use } = start()
  attempts.away = true
  await t.rejects(login(), { reason: 'LoginNotRemembered', message: /API server/ })
  attempts.away = new WrongClock(90_000)
  await t.rejects(login(), { reason: 'LoginNotRemembered', message: /90 s behind .* NTP/ })
  t.same(sent, [])
  attempts.away = false
  use('right')
  await login()
})

t.test('a user that nobody has checked is named by its place: it may be the password', async (t) => {
  const { start } = setUp()
  const { login, account } = start()
  Object.assign(account, { user: 'hunter2', userSource: 'the Secret n/s under "vc.username"' })
  await t.rejects(login(), {
    message:
      /^vc\.test:443 refuses the user of the Secret n\/s under "vc\.username" with the configured password;/,
  })
  for (const text of ['a', 'b', 'c']) {
    account.password = new Secret(text)
    await login().catch(() => undefined)
  }
  account.password = new Secret('d')
  await t.rejects(login(), {
    message: /attempted as the user of the Secret n\/s under "vc\.username": 4/,
  })
})

t.test('REST refuses what SOAP accepts: again after a minute, then less and less often', async (t) => {
  const { clock, sent, start, vCenter } = setUp()
  const { login, use, pause } = start()
  use('right')
  vCenter.refusesREST = true
  await login()
  await t.rejects(login('REST'), { reason: 'InvalidLogin', message: /REST interface; .*SOAP accepts it/ })
  t.equal(pause('REST')?.left, 45_000)
  for (let minute = 0; minute < 180; minute++) {
    await clock.turn(MINUTE)
    if (pause('REST') === undefined) await t.rejects(login('REST'), LoginRefused)
  }
  const tries = sent.filter((each) => each === 'REST right').length
  t.ok(tries >= 8 && tries <= 15, `${tries} attempts in three hours`)
  t.equal(pause('SOAP'), undefined)
  await login('SOAP')
  t.equal(pause('REST'), undefined, 'a new SOAP session is a reason to try REST too')
  vCenter.refusesREST = false
  await login('REST')
})

t.test('REST leaves attempts to SOAP', async (t) => {
  const { attempts, sent, start, vCenter } = setUp()
  const { login, use } = start()
  use('right')
  await login()
  vCenter.refusesREST = true
  for (const password of ['a', 'b', 'c', 'd']) {
    use(password)
    await t.rejects(login('REST'), LoginRefused)
  }
  t.same(sent, ['SOAP right', 'REST a', 'REST b'])
  use('right')
  await login()
  t.same([...attempts.accounts.values()].flat(), [])
})

t.test('REST does not answer, and the password is right: not counted', async (t) => {
  const { sent, start, vCenter } = setUp()
  const { login, use } = start()
  use('right')
  await login()
  vCenter.fails = 'TimedOut'
  for (let i = 0; i < 5; i++) await t.rejects(login('REST'), { reason: 'TimedOut', message: 'fails' })
  t.equal(sent.length, 6)
})

t.test('a session manager that fails: again within seconds, then less often', async (t) => {
  const clock = createHandClock()
  const attempts = attemptsInMemory()
  const logins = testLogins({ attempts, clock, random: () => 0 })
  const account = {
    name: 'main',
    server: 'vc.test',
    port: 443,
    user: '',
    password: new Secret('p'),
    sessionManager: 'https://manager.test/hunter',
    userSource: 'the Secret n/s under "k"',
  }
  const made: number[] = []
  const login = () =>
    logins.login({
      account,
      by: 'SOAP',
      signal,
      async send() {
        made.push(clock.monotonic())
        throw new SessionManagerError('no ticket', { asked: true })
      },
    })
  for (let second = 0; second < 3_600; second++) {
    if (logins.pause(account, 'SOAP') === undefined) {
      const error: unknown = await login().catch((error) => error)
      t.match(error, { reason: 'SessionManagerFailed' })
    }
    await clock.turn(1_000)
  }
  t.ok(made.length > 20, `${made.length} in an hour`)
  t.ok((made[1] ?? 0) - (made[0] ?? 0) <= 20_000)
  // At most four in five minutes, as with a password.
  t.ok(made.every((at, index) => (made[index + 4] ?? Number.POSITIVE_INFINITY) - at >= 300_000))
  t.notMatch([...attempts.accounts.keys()].join(), /hunter|manager/)
})

t.test('tenants that share a session manager do not hold each other back', async (t) => {
  const attempts = attemptsInMemory()
  const logins = testLogins({ attempts })
  const tenant = (token: string, secret: string) => ({
    name: 'main',
    server: 'vc.test',
    port: 443,
    user: '',
    password: new Secret(token),
    sessionManager: 'https://manager.test/session',
    userSource: `the Secret n/${secret} under "k"`,
  })
  const [one, other] = [tenant('a', 'one'), tenant('b', 'other')]
  const send = (password: Secret) =>
    password.reveal() === 'a'
      ? Promise.reject(new VCenterError('InvalidLogin', 'refused'))
      : Promise.resolve('in')
  await t.rejects(logins.login({ account: one, by: 'SOAP', signal, send }))
  t.equal(await logins.login({ account: other, by: 'SOAP', signal, send }), 'in')
  t.ok(logins.pause(one, 'SOAP'), 'nor does the success of one free the other')
  t.equal([...attempts.accounts.values()].filter((made) => made.length > 0).length, 2)
})

t.test('accounts are apart, and neither user nor password can be read of their names', async (t) => {
  const { attempts, start } = setUp()
  const [one, other] = [start(), start()]
  Object.assign(one.account, { user: 'DOM\\Alice' })
  Object.assign(other.account, { user: 'dom\\alice' })
  await t.rejects(one.login())
  await t.rejects(other.login())
  const name = /^vc\.test:443\/(source-)?[0-9a-f]{12}$/
  t.equal(attempts.accounts.size, 3, 'the form that is configured, the user alone, and the source')
  t.ok([...attempts.accounts.keys()].every((each) => name.test(each)))
  Object.assign(other.account, { server: '::1' })
  await t.rejects(other.login())
  t.match([...attempts.accounts.keys()][3], /^\[::1\]:443\//)
})

t.test('no two attempts of a process have the same number, whoever makes them', async (t) => {
  const logins = testLogins()
  const numbers: number[] = []
  const login = (server: string) =>
    logins.login({
      account: { name: server, server, port: 443, user: 'u', password: new Secret('p') },
      by: 'SOAP',
      signal,
      send: async (_, number) => void numbers.push(number),
    })
  // Two of them as by two inventories of one vCenter, before and after a change of the configuration.
  for (const server of ['a.test', 'a.test', 'b.test']) await login(server)
  t.equal(new Set(numbers).size, 3)
})

t.test(
  'a user has one budget under all forms of his name, and a source one for all that it names',
  async (t) => {
    const forms = [
      'administrator@vsphere.local',
      'VSPHERE.LOCAL\\Administrator',
      ' administrator',
      'Administrator',
      'vsphere.local/administrator',
      '\u{200b}administrator@VSPHERE.LOCAL\n',
    ]
    for (const users of [forms, ['a', 'b', 'c', 'd', 'e', 'f']]) {
      const { clock, sent, start, vCenter } = setUp()
      const { account, login } = start()
      for (const user of users) {
        Object.assign(account, { user })
        await t.rejects(login(), LoginRefused)
        await clock.turn(4_000)
      }
      // No password is known to be another one than before, so the quarter of an hour counts.
      t.equal(sent.length, 3)
      await t.rejects(login(), {
        message:
          /: 3 were refused .*, with those in other forms of this name .* counted; will be retried at 00:15/,
      })
      account.password = new Secret(vCenter.password)
      await login()
      t.same(sent.at(-1), 'SOAP right', 'the password is mended with one attempt left')
    }
  },
)

t.test('a form that is mended is tried at once, and ends the count', async (t) => {
  const { attempts, sent, start, vCenter } = setUp()
  const { account, login, use, pause } = start()
  use('right')
  vCenter.fails = 'InvalidLogin'
  await t.rejects(login(), LoginRefused)
  Object.assign(account, { user: 'u@vsphere.local' })
  t.equal(pause(), undefined)
  vCenter.fails = undefined
  await login()
  t.equal(sent.length, 2)
  const left = [...attempts.accounts].filter(([, made]) => made.length > 0)
  t.same(left, [], 'the bare name is the same user')
})

t.test('users of one name in two domains: the success of one does not free the other', async (t) => {
  const { attempts, clock, sent, start, vCenter } = setUp()
  for (let turn = 0; turn < 6; turn++) {
    const [one, other] = [start(), start()]
    Object.assign(one.account, { user: 'svc@one.test' })
    Object.assign(other.account, { name: 'other', user: 'svc@other.test', password: new Secret('right') })
    await one.login().catch(() => undefined)
    await other.login().catch(() => undefined)
    await clock.turn(10_000)
  }
  t.equal(sent.filter((each) => each.endsWith('wrong')).length, 3)
  t.ok(sent.filter((each) => each.endsWith(vCenter.password)).length >= 3)
  t.ok([...attempts.accounts.values()].flat().length > 0)
})

t.test('other users from other sources do not hold each other back', async (t) => {
  const { sent, start } = setUp()
  const tenant = (name: string) => {
    const { account, login } = start()
    Object.assign(account, { name, user: name })
    return { account, login }
  }
  for (const name of ['a', 'b', 'c', 'd', 'e']) await t.rejects(tenant(name).login(), /refuses the user/)
  t.equal(sent.length, 5)
})
