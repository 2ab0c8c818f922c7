/** One vCenter under several configured names, by the logins of a process. */
import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { Secret } from '../../config/secret.ts'
import { attemptsInMemory, testLogins } from '../testing/logins.ts'
import { LoginRefused, VCenterError } from '../wire/errors.ts'

const UUID = '12345678-1234-1234-1234-123456789abc'
const { signal } = new AbortController()

/** A vCenter that takes one password, and processes that log in to it. */
function setUp() {
  const clock = createHandClock()
  const attempts = attemptsInMemory()
  const sent: string[] = []
  const vCenter = { password: 'right' }
  function start() {
    const logins = testLogins({ attempts, clock, random: () => 0.5 })
    return async (server: string, password: string, instanceUUID?: string) =>
      await logins.login({
        account: { name: server, server, port: 443, user: 'u', password: new Secret(password) },
        by: 'SOAP',
        ...(instanceUUID === undefined ? {} : { instanceUUID }),
        signal,
        async send() {
          sent.push(`${server} ${password}`)
          if (password !== vCenter.password) throw new VCenterError('InvalidLogin', 'refused')
        },
      })
  }
  return { clock, attempts, sent, vCenter, start }
}

t.test('two names, one budget for a user', async (t) => {
  const { attempts, sent, start } = setUp()
  const login = start()
  // Both at once: the second one waits for what becomes of the first.
  const both = await Promise.allSettled([login('vc.test', 'wrong', UUID), login('10.0.0.5', 'wrong', UUID)])
  t.match(both, [
    { status: 'rejected', reason: { message: /refuses the user u/ } },
    {
      status: 'rejected',
      reason: { message: /under another name of the same vCenter; will be retried at 00:23/ },
    },
  ])
  t.same(sent, ['vc.test wrong'])
  await t.rejects(start()('10.0.0.5', 'wrong', UUID), LoginRefused)
  await t.rejects(start()('vc.test', 'wrong', UUID), LoginRefused)
  t.equal(sent.length, 3)
  await t.rejects(start()('10.0.0.5', 'wrong', UUID), { message: /attempted as the user u: 3/ })
  await t.rejects(start()('vc.test', 'wrong'), { message: /: 3 were/ }, 'an earlier version reads it too')
  t.equal(sent.length, 3)
  await login('10.0.0.5', 'right', UUID)
  const ofAccount = [...attempts.accounts].filter(([name]) => !name.includes('/source-'))
  t.same(
    ofAccount.flatMap(([, made]) => made),
    [],
    'an accepted login ends the count for both',
  )
  const refusedBefore = login('vc.test', 'wrong', UUID)
  await t.rejects(refusedBefore, LoginRefused, 'a password that was refused rests all the same')
  t.equal(sent.length, 4)
})

t.test('the same password is tried again under either name when it has rested', async (t) => {
  const { clock, sent, start, vCenter } = setUp()
  const login = start()
  vCenter.password = 'none of them'
  await t.rejects(login('vc.test', 'right', UUID), { message: /refuses the user u/ })
  await clock.turn(10 * 60_000)
  await t.rejects(login('10.0.0.5', 'right', UUID), { message: /under another name/ })
  vCenter.password = 'right'
  await clock.turn(13 * 60_000)
  await login('10.0.0.5', 'right', UUID)
  await login('vc.test', 'right', UUID)
  t.same(sent, ['vc.test right', '10.0.0.5 right', 'vc.test right'])
})

t.test('what an earlier version has counted under either name counts', async (t) => {
  const { attempts, clock, sent, start } = setUp()
  const login = start()
  await t.rejects(login('vc.test', 'a', UUID))
  const [, hash = ''] = [...attempts.accounts.keys()][0]?.split('/') ?? []
  const refused = (seconds: number) => ({ at: clock.now() + seconds * 1_000, refused: true })
  attempts.accounts.set(`10.0.0.5:443/${hash}`, [refused(-1), refused(-2), refused(-3)])
  await t.rejects(login('10.0.0.5', 'b', UUID), { message: /: 4 were refused/ })
  t.equal(sent.length, 1)
})

t.test('vCenters are apart, and so are those whose identity is in another form', async (t) => {
  for (const [one, other] of [
    [UUID, UUID.replace('1', '2')],
    ['same', 'same'],
    ['', ''],
    [undefined, undefined],
  ]) {
    const { attempts, sent, start } = setUp()
    const login = start()
    await t.rejects(login('vc.test', 'wrong', one), { message: /refuses the user u/ })
    await t.rejects(login('10.0.0.5', 'wrong', other), { message: /refuses the user u/ })
    t.equal(sent.length, 2, String(one))
    const known =
      one === UUID ? /^(vc\.test:443|10\.0\.0\.5:443|[0-9a-f-]{36})$/ : /^(vc\.test|10\.0\.0\.5):443$/
    t.ok(
      [...attempts.accounts.keys()].every((name) => known.test(name.split('/')[0] ?? '')),
      String(one),
    )
  }
})
