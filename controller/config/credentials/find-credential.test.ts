import t from 'tap'
import { findCredential } from './find-credential.ts'
import { isOfInterest, readValue, type SecretData } from './watch-source.ts'

const bytes = (value: string | Uint8Array) =>
  typeof value === 'string' ? new TextEncoder().encode(value) : value

function data(entries: Record<string, string | Uint8Array>): SecretData {
  return new Map(
    Object.entries(entries).map(([key, value]) => [
      key,
      isOfInterest(key) ? readValue(bytes(value)) : undefined,
    ]),
  )
}

/** `user/password`, or `URL token`, or the error. */
function find(entries: Record<string, string | Uint8Array>, server = 'vc'): string {
  const found = findCredential(data(entries), server)
  if (!found.ok) return found.message
  const { user, password, sessionManager } = found.value
  return sessionManager === undefined
    ? `${user}/${password.reveal()}`
    : `${sessionManager} ${password.reveal()}`
}

t.test('what is found', async (t) => {
  const dotted = { 'vc.username': 'u', 'vc.password': 'p' }
  const lettered = { server_a: 'vc', username_a: 'v', password_a: 'q' }
  const manager = { 'vc.vc-session-manager-url': 'https://m/s', 'vc.vc-session-manager-token': 't' }
  const cases: readonly [string, Record<string, string>, string, string][] = [
    ['by the name of the server', dotted, 'vc', 'u/p'],
    [
      'that it has in any case',
      { 'VC.example.com.username': 'u', 'vc.Example.com.password': 'p' },
      'vc.EXAMPLE.com',
      'u/p',
    ],
    ['of several', { ...dotted, 'vc2.username': 'u2', 'vc2.password': 'p2' }, 'vc2', 'u2/p2'],
    ['by a letter', lettered, 'vc', 'v/q'],
    ['which goes first', { ...dotted, ...lettered }, 'vc', 'v/q'],
    [
      'of several letters',
      { ...lettered, server_b: 'fd01::1', username_b: 'w', password_b: 'r' },
      'fd01::1',
      'w/r',
    ],
    ['in brackets', { ...lettered, server_a: '[FD01::1]\n' }, 'fd01::1', 'v/q'],
    ['beside other keys', { ...dotted, token: 't', '.password': 'x' }, 'vc', 'u/p'],
    ['a session manager', manager, 'vc', 'https://m/s t'],
    ['which goes before all else', { ...dotted, ...lettered, ...manager }, 'vc', 'https://m/s t'],
    [
      'and its name is in any case, its newlines go',
      { 'VC.vc-session-manager-url': 'https://m/s\n', 'VC.vc-session-manager-token': 't.-_~+/=\n' },
      'vc',
      'https://m/s t.-_~+/=',
    ],
    [
      'of another server',
      { ...dotted, ...manager },
      'vc2',
      'has no key "vc2.username", only "vc.password", "vc.username", "vc.vc-session-manager-token", "vc.vc-session-manager-url": add it',
    ],
    ['a token alone counts for nothing', { ...dotted, 'vc.vc-session-manager-token': 't' }, 'vc', 'u/p'],
    ['beside an empty line', { ...dotted, 'vc.vc-session-manager-url': '\n' }, 'vc', 'u/p'],
    ['beside an empty one', { ...dotted, 'vc.vc-session-manager-url': '' }, 'vc', 'u/p'],
    ['without the newline of echo', { 'vc.username': 'u\n', 'vc.password': 'p\n\n' }, 'vc', 'u/p\n'],
    ['with it, as in the CPI', { ...lettered, username_a: 'v\n', password_a: 'q\n' }, 'vc', 'v/q\n'],
    ['whatever else it has', { ...dotted, 'vc.password': ' \t"\'\\#;!= é\r' }, 'vc', 'u/ \t"\'\\#;!= é\r'],
    ['byte order mark included', { ...dotted, 'vc.password': '\ufeffp' }, 'vc', 'u/\ufeffp'],
  ]
  for (const [what, entries, server, expected] of cases) t.equal(find(entries, server), expected, what)
})

t.test('what is missing is named, with the keys that are there', async (t) => {
  const many = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, i) => [`k${String(i).padStart(4, '0')}`, 'hunter']),
  )
  const cases: readonly [string, Record<string, string | Uint8Array>, RegExp][] = [
    ['all', {}, /^has no key "vc.username", nor any other: add it$/],
    ['the password', { 'vc.username': 'u' }, /^has no key "vc.password", only "vc.username": add it$/],
    [
      'the other one',
      { server_a: 'vc', username_a: 'u' },
      /^has no key "password_a", only "server_a", "username_a"/,
    ],
    ['many others', many, /^has no key "vc.username", only "k0000", .*"k0009" and 1990 more: add it$/],
    [
      'long and unprintable names',
      { [`\u001b[2J\n${'x'.repeat(9_000)}`]: 'hunter' },
      /only "\ufffd\[2J\ufffdx{70,74}\.\.\.": add it$/,
    ],
    ['nothing in it', { 'vc.username': 'u', 'vc.password': '\n' }, /^has nothing under "vc.password"/],
    [
      'no text',
      { 'vc.username': 'u', 'vc.password': new Uint8Array([0xff, 0xfe]) },
      /under "vc.password" a value .* is not UTF-8/,
    ],
    [
      'a megabyte',
      { 'vc.username': 'u', 'vc.password': 'hunter'.repeat(170_000) },
      /longer than 65536 bytes/,
    ],
    [
      'a user with more than a name',
      { 'vc.username': 'hunter\nhunter', 'vc.password': 'p' },
      /^has a control character under "vc.username"/,
    ],
    [
      'a user that is no name',
      { 'vc.username': 'hunter'.repeat(43), 'vc.password': 'p' },
      /^has more than 256 characters under "vc.username"/,
    ],
    [
      'a certificate',
      { 'vc.username': '-----BEGIN CERTIFICATE-----', 'vc.password': 'p' },
      /"vc.username" .*a certificate as the user is not supported/,
    ],
    [
      'a server twice',
      { server_a: 'vc', server_b: 'VC' },
      /^names vc under "server_a" and under "server_b": keep one/,
    ],
  ]
  for (const [what, entries, expected] of cases) {
    const message = find(entries)
    t.match(message, expected, what)
    t.notMatch(message, /hunter/)
    t.ok(message.length < 600, what)
  }
})

t.test('white space around a value is named', async (t) => {
  const edge = (what: string, by: string) => new RegExp(`^has a ${what} that begins or ends with ${by}`)
  const cases: readonly [string, Record<string, string>, RegExp][] = [
    [
      'two newlines',
      { 'vc.password': 'hunter\n\n' },
      edge('password under "vc.password"', 'a newline, which'),
    ],
    [
      'CRLF',
      { 'vc.password': 'hunter\r\n' },
      edge('password under "vc.password"', 'a carriage return, which'),
    ],
    [
      'a trailing space',
      { 'vc.password': 'hunter ' },
      edge('password under "vc.password"', 'a space, which'),
    ],
    ['a leading tab', { 'vc.password': '\thunter' }, edge('password under "vc.password"', 'a tab, which')],
    [
      'a no-break space',
      { 'vc.password': 'hunter\u00a0' },
      edge('password .*', 'a no-break space .*, which'),
    ],
    ['of a user', { 'vc.username': 'hunter \n' }, edge('user under "vc.username"', 'a space, which')],
    ['two newlines of a user', { 'vc.username': 'hunter\n\n' }, edge('user .*', 'a newline: write the')],
    ['CRLF of a user', { 'vc.username': 'hunter\r\n' }, edge('user .*', 'a carriage return: write the')],
    [
      'as it is',
      { server_a: 'vc', username_a: 'u', password_a: 'hunter\n' },
      edge('password under "password_a"', 'a newline, which'),
    ],
    ...['\n\n', '\r\n', ' '].map((end): [string, Record<string, string>, RegExp] => [
      `a token with ${JSON.stringify(end)}`,
      { 'vc.vc-session-manager-url': 'https://m/s', 'vc.vc-session-manager-token': `hunter${end}` },
      edge('token under "vc.vc-session-manager-token"', 'a .*: write the token alone$'),
    ]),
  ]
  for (const [what, entries, expected] of cases) {
    const found = findCredential(data({ 'vc.username': 'u', 'vc.password': 'p', ...entries }), 'vc')
    const said = found.ok ? found.value.oddity : found.message
    t.match(said, expected, what)
    t.notMatch(said, /hunter/, what)
  }
  const plain = findCredential(data({ 'vc.username': 'u\n', 'vc.password': 'p q\n' }), 'vc')
  t.match(plain, { ok: true, value: { oddity: undefined } }, 'one newline is not a part of it')
})

t.test('what is wrong with a session manager is named, and not repeated', async (t) => {
  const cases: readonly [string, { url?: string; token?: string }, RegExp][] = [
    ['no token', {}, /^has no key "vc.vc-session-manager-token", only "vc.vc-session-manager-url": add it$/],
    ['an empty token', { token: '\n' }, /^has nothing under "vc.vc-session-manager-token"/],
    [
      'two lines as token',
      { token: 'hunter\nx: y' },
      /^has under "vc.*-token" something that is not a bearer token/,
    ],
    [
      'a long token',
      { token: 'h'.repeat(4_097) },
      /-token" something that is not a bearer token of at most 4096/,
    ],
    [
      'no URL',
      { url: 'hunter' },
      /"vc.*-url" a value that is refused: expected a URL such .*, got text of 6 char/,
    ],
    ['a long one', { url: `https://${'hunter'.repeat(9_000)}` }, /got text of 54008 characters$/],
    ['without TLS', { url: 'http://hunter/s', token: 't' }, /got one without TLS: write https:\/\/$/],
    ['another scheme', { url: 'file:///hunter' }, /expected a URL .*, got text of 14 characters$/],
    ['a password in it', { url: 'https://u:hunter@m' }, /got one with a user or a password: leave them out/],
  ]
  for (const [what, { url = 'https://hunter/s', token }, expected] of cases) {
    const message = find({
      'vc.vc-session-manager-url': url,
      ...(token === undefined ? {} : { 'vc.vc-session-manager-token': token }),
      // Never taken in its place.
      ...(what === 'no token' ? {} : { 'vc.username': 'u', 'vc.password': 'p' }),
    })
    t.match(message, expected, what)
    t.notMatch(message, /hunter/)
  }
})
