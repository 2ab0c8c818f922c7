import t from 'tap'
import { parseServer } from './server.ts'

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
  ['10.0.0.256', 'got text of 10 characters that looks like an IPv4 address but is none'],
  ['vc example', 'got text of 10 characters'],
  [' vc', 'got text of 3 characters'],
  ['[vc]', 'got one with'],
  ['-vc', 'got text of 3 characters'],
  [`${'a.'.repeat(200)}b`, 'got text of 401 characters'],
]
for (const [text, words] of wrong) {
  const parsed = parseServer(text)
  t.equal(parsed.ok, false, text)
  if (!parsed.ok) t.ok(parsed.message.includes(words), `${text}: ${parsed.message}`)
}
