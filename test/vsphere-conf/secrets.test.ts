/** Which credential the CPI's own package finds in a Secret, against ours. */
import t from 'tap'
import {
  findCredential,
  type VCenterCredential,
} from '../../controller/config/credentials/find-credential.ts'
import { Secret } from '../../controller/config/secret.ts'
import { askCPIForCredentials, type CPICredential } from './oracle.ts'

type Outcome = 'same' | 'none' | 'only Rollcall finds it' | 'only the CPI finds it' | 'another'

const DOTTED = { 'vc.username': 'u', 'vc.password': 'p' }
const LETTERED = { server_a: 'vc', username_a: 'v', password_a: 'q' }

const MANAGER = { 'vc.vc-session-manager-url': 'https://m/s\n', 'vc.vc-session-manager-token': 't\n' }

const CASES: readonly [string, Readonly<Record<string, string>>, string, Outcome][] = [
  ['by the name of the server', DOTTED, 'vc', 'same'],
  ['with dots in it', { '10.0.0.1.username': 'u', '10.0.0.1.password': 'p' }, '10.0.0.1', 'same'],
  ['of several', { ...DOTTED, 'vc2.username': 'u2', 'vc2.password': 'p2' }, 'vc2', 'same'],
  ['by a letter', LETTERED, 'vc', 'same'],
  ['by a word', { server_eu_1: 'fd01::1', username_eu_1: 'v', password_eu_1: 'q' }, 'fd01::1', 'same'],
  ['in both forms', { ...DOTTED, ...LETTERED }, 'vc', 'same'],
  ['newlines', { 'vc.username': 'u\n', 'vc.password': 'p\n\n' }, 'vc', 'same'],
  ['a newline by a letter', { ...LETTERED, password_a: 'q\n' }, 'vc', 'same'],
  ['carriage returns and blanks', { ...DOTTED, 'vc.password': ' p\r\n' }, 'vc', 'same'],
  ['signs', { ...DOTTED, 'vc.password': `"'\\#;!=\té` }, 'vc', 'same'],
  ['a session manager', MANAGER, 'vc', 'same'],
  ['a session manager beside user and password', { ...DOTTED, ...MANAGER }, 'vc', 'same'],
  ['a session manager in place of nothing', { ...DOTTED, 'vc.vc-session-manager-url': '\n' }, 'vc', 'same'],
  ['another server', DOTTED, 'vc2', 'none'],
  ['nothing', {}, 'vc', 'none'],
  ['a letter without a server', { username_a: 'v', password_a: 'q' }, 'vc', 'none'],
  // As docs/differences.md has them.
  ['a key that nobody knows', { ...DOTTED, other: 'x' }, 'vc', 'same'],
  ['another server lacks its password', { ...DOTTED, 'vc2.username': 'u2' }, 'vc', 'same'],
  ['a name in another case', DOTTED, 'VC', 'only Rollcall finds it'],
  ['a name in brackets', { ...LETTERED, server_a: '[fd01::1]' }, 'fd01::1', 'only Rollcall finds it'],
  [
    'a session manager without a token',
    { 'vc.vc-session-manager-url': 'https://m/s' },
    'vc',
    'only the CPI finds it',
  ],
  [
    'a session manager without TLS',
    { ...MANAGER, 'vc.vc-session-manager-url': 'http://m/s' },
    'vc',
    'only the CPI finds it',
  ],
  ['a user alone', { 'vc.username': 'u' }, 'vc', 'only the CPI finds it'],
  ['half of the letters beside a whole name', { ...DOTTED, server_a: 'vc' }, 'vc', 'only the CPI finds it'],
]

t.test('what each finds', async (t) => {
  const said = await askCPIForCredentials(CASES.map(([, secret, server]) => ({ secret, server })))
  for (const [index, [what, secret, server, expected]] of CASES.entries()) {
    const data = new Map(Object.entries(secret).map(([key, value]) => [key, new Secret(value)]))
    const own = findCredential(data, server)
    const rollcall = own.ok ? described(own.value) : undefined
    const { credential } = said[index] ?? {}
    const cpi = credential && describedByCPI(credential)
    t.equal(outcomeOf(cpi, rollcall), expected, JSON.stringify({ what, cpi, rollcall }))
  }
})

function described({ user, password, sessionManager }: VCenterCredential): string {
  return sessionManager === undefined
    ? `${user}/${password.reveal()}`
    : `${sessionManager} ${password.reveal()}`
}

/** As its package vclib takes it: a URL goes before user and password. */
function describedByCPI(found: CPICredential): string {
  const { User, Password, VCSessionManagerURL, VCSessionManagerToken } = found
  return VCSessionManagerURL === ''
    ? `${User}/${Password}`
    : `${VCSessionManagerURL} ${VCSessionManagerToken}`
}

function outcomeOf(cpi: string | undefined, rollcall: string | undefined): Outcome {
  if (cpi === rollcall) return cpi === undefined ? 'none' : 'same'
  if (cpi === undefined) return 'only Rollcall finds it'
  return rollcall === undefined ? 'only the CPI finds it' : 'another'
}
