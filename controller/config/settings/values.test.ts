import t from 'tap'
import { parseCIDRs, parseDuration, parseDurationOrOff } from './values.ts'
import { parseServer } from './vcenter.ts'

t.test('durations as Go reads them', async (t) => {
  // What time.ParseDuration of Go 1.26 makes of them, rounded to milliseconds.
  const cases: readonly [string, number][] = [
    ['0', 0],
    ['0s', 0],
    ['0h0m0s', 0],
    ['1s', 1_000],
    ['90s', 90_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1500ms', 1_500],
    ['1m1h', 3_660_000],
    ['1s1s', 2_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['2.s', 2_000],
    ['0.25m', 15_000],
    ['1h2m3.004s', 3_723_004],
    ['1ms2us', 1],
    ['1500µs', 2],
    ['2000μs', 2],
    ['3000000ns', 3],
    ['007s', 7_000],
    ['168h', 604_800_000],
  ]
  for (const [text, value] of cases) t.same(parseDuration(text, '0s'), { ok: true, value }, text)
})

t.test('what is no duration is refused, with what was meant where that is plain', async (t) => {
  const NONE = 'expected a duration such as 90s, 5m or 1h30m, got'
  const cases: readonly [string, string][] = [
    ['300', `${NONE} text of 3 characters: did you mean "300s"?`],
    ['00300', `${NONE} text of 5 characters: did you mean "300s"?`],
    ['5M', `${NONE} text of 2 characters: did you mean "5m"?`],
    ['5 m', `${NONE} text of 3 characters: did you mean "5m"?`],
    ['5min', `${NONE} text of 4 characters: did you mean "5m"?`],
    ['90 Seconds', `${NONE} text of 10 characters: did you mean "90s"?`],
    ['2d', `${NONE} text of 2 characters: did you mean "48h"?`],
    ['1 hour', `${NONE} text of 6 characters: did you mean "1h"?`],
    ['1234567', `${NONE} text of 7 characters`],
    ['1.5', `${NONE} text of 3 characters`],
    ['-5m', `${NONE} text of 3 characters`],
    ['+5m', `${NONE} text of 3 characters`],
    ['5m ', `${NONE} text of 3 characters`],
    ['5m 30s', `${NONE} text of 6 characters`],
    ['5x', `${NONE} text of 2 characters`],
    ['.s', `${NONE} text of 2 characters`],
    ['1.2.3s', `${NONE} text of 6 characters`],
    ['m', `${NONE} text of 1 character`],
    ['PT5M', `${NONE} text of 4 characters`],
    ['5:00', `${NONE} text of 4 characters`],
    ['soon', `${NONE} text of 4 characters`],
    ['0', 'expected a duration of at least 1s, got a shorter one'],
    ['999ms', 'expected a duration of at least 1s, got a shorter one'],
    ['168h1ms', 'expected a duration of at most 168h, got a longer one'],
    [`${'9'.repeat(400)}h`, 'expected a duration of at most 168h, got a longer one'],
  ]
  for (const [text, message] of cases) t.same(parseDuration(text, '1s'), { ok: false, message }, text)
})

t.test('a duration or off', async (t) => {
  for (const text of ['off', 'OFF', 'Off', 'false', 'no', 'n', 'never', 'none'])
    t.same(parseDurationOrOff(text, '1s'), { ok: true, value: undefined }, text)
  t.same(parseDurationOrOff('5m', '1s'), { ok: true, value: 300_000 })
  const cases: readonly [string, string][] = [
    ['on', 'expected "off" or a duration such as 90s, 5m or 1h30m, got text of 2 characters'],
    ['0', 'expected "off" or a duration of at least 1s, got a shorter one'],
    [
      '10',
      'expected "off" or a duration such as 90s, 5m or 1h30m, got text of 2 characters: did you mean "10s"?',
    ],
  ]
  for (const [text, message] of cases) t.same(parseDurationOrOff(text, '1s'), { ok: false, message }, text)
})

// A million characters: what took the square of them would not end before the whole file is given up.
t.test('a hostile text is read in one go', async (t) => {
  for (const part of ['1', '1.', '.1', '1s', '1m'])
    t.notOk(parseDuration(`${part.repeat(1_000_000)}!`, '0s').ok)
})

t.test('a server, or what to write instead', async (t) => {
  const right: readonly [string, string][] = [
    ['vc.example.com', 'vc.example.com'],
    ['VC01', 'VC01'],
    ['vc_1.corp.local.', 'vc_1.corp.local.'],
    ['10.0.0.1', '10.0.0.1'],
    ['fd00::1', 'fd00::1'],
    ['[fd00::1]', 'fd00::1'],
  ]
  for (const [text, value] of right) t.same(parseServer(text), { ok: true, value }, text)

  const wrong: readonly [string, string][] = [
    ['https://vc.example.com', 'got one with a scheme: write "server: vc.example.com"'],
    ['https://vc.example.com/sdk', 'got one with a scheme and a path: write "server: vc.example.com"'],
    ['vc.example.com/sdk', 'got one with a path: write "server: vc.example.com"'],
    ['vc.example.com:8443', 'got one with a port: write "server: vc.example.com" and "port: 8443"'],
    ['[fd00::1]:443', 'got one with a port: write "server: fd00::1" and "port: 443"'],
    ['https://10.0.0.1:443/', 'write "server: 10.0.0.1" and "port: 443"'],
    ['user:secret@vc', 'got text of 14 characters'],
    ['vc:secret', 'got text of 9 characters'],
    ['10.0.0.256', 'got text of 10 characters that looks like an IPv4 address but is not'],
    ['vc example', 'got text of 10 characters'],
    [' vc', 'got text of 3 characters'],
    ['[vc]', 'got one with brackets: write "server: vc"'],
    ['vc[a]', 'got text of 5 characters'],
    ['-vc', 'got text of 3 characters'],
    [`${'a.'.repeat(200)}b`, 'got text of 401 characters'],
  ]
  for (const [text, words] of wrong) {
    const parsed = parseServer(text)
    t.equal(parsed.ok, false, text)
    if (!parsed.ok) t.ok(parsed.message.includes(words), `${text}: ${parsed.message}`)
  }
})

t.test('subnets, as net.ParseCIDR of Go 1.26 takes them', async (t) => {
  const cases: readonly [string, string[]][] = [
    ['10.0.0.0/8', ['10.0.0.0/8']],
    ['10.1.2.3/8', ['10.1.2.3/8']],
    ['192.0.2.0/24,2001:db8::/32', ['192.0.2.0/24', '2001:db8::/32']],
    [' 192.0.2.0/24 , fe80::1/128 ,', ['192.0.2.0/24', 'fe80::1/128']],
    ['0.0.0.0/0', ['0.0.0.0/0']],
    ['::/0', ['::/0']],
    ['2001:DB8::/32', ['2001:db8::/32']],
    ['::ffff:10.0.0.0/104', ['::ffff:10.0.0.0/104']],
    ['10.0.0.0/08', ['10.0.0.0/08']],
    ['', []],
    [' , ', []],
  ]
  for (const [text, value] of cases) t.same(parseCIDRs(text), { ok: true, value }, text)
})

t.test('what is no subnet is refused, and which one it is', async (t) => {
  const wrong = [
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0/8',
    '10.0.0.0.0/8',
    '010.0.0.0/8',
    '10.0.0.256/8',
    '10.0.0.0/',
    '/8',
    '2001:db8::/129',
    '2001:db8::1::/64',
    'fe80::1%eth0/64',
    'dc-1',
    '10.0.0.0/8/8',
    '10.0.0.0 /8',
    '0x0a.0.0.0/8',
    '10.0.0.0/8;192.0.2.0/24',
  ]
  for (const text of wrong)
    t.match(parseCIDRs(text), { ok: false, message: /^expected a subnet such as/ }, text)
  t.match(parseCIDRs('10.0.0.0/8,x'), {
    message:
      'number 2 of 2 is wrong: expected a subnet such as 10.0.0.0/8 or fd00::/64, got text of 1 character',
  })
})
