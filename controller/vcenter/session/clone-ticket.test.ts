import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { type Misbehave, startSessionManager } from '../../../test/servers/session-manager.ts'
import { startVcsim } from '../../../test/servers/vcsim.ts'
import type { Trust } from '../../config/config.ts'
import { Secret } from '../../config/secret.ts'
import { openConnection } from '../wire/connection.ts'
import { createTicketRequests } from './clone-ticket.ts'

const TOKEN = 'marker-token'
const { signal } = new AbortController()
const dir = await mkdtemp(join(tmpdir(), 'rollcall-session-manager-'))
const vcsim = await startVcsim({ vms: 1 })
const manager = await startSessionManager({ vcsim, dir, token: TOKEN })
t.teardown(async () => {
  await manager.stop()
  await vcsim.stop()
  await rm(dir, { recursive: true })
})
const trust: Trust = { kind: 'ca', pem: await readFile(manager.caFile, 'utf8') }

function requests(options: { trust?: Trust; deadline?: number } = {}) {
  return createTicketRequests({
    trust,
    deadline: 3_600_000,
    userAgent: 'test',
    clock: systemClock,
    openConnection,
    ...options,
  })
}

/** What a request fails with. */
async function failure(
  options: { trust?: Trust; deadline?: number } = {},
  url = manager.url,
): Promise<Error & { reason: string; asked?: boolean }> {
  const outcome: unknown = await requests(options)(url, new Secret(TOKEN), signal).catch((error) => error)
  if (!(outcome instanceof Error)) throw new Error('it gave a ticket')
  t.notMatch(inspect(outcome, { depth: 9 }), /marker/, 'nothing of the token, the path and the answer')
  return outcome as Error & { reason: string }
}

async function misbehaving(answer: Misbehave, options?: { deadline?: number }) {
  manager.misbehave = answer
  try {
    return await failure(options, `${manager.url}/marker-path`)
  } finally {
    manager.misbehave = undefined
  }
}

await t.test('a ticket for the token', async (t) => {
  const ticket = await requests()(manager.url, new Secret(TOKEN), signal)
  t.equal(ticket.reveal(), manager.tickets.at(-1))
  t.same(manager.authorizations, [`Bearer ${TOKEN}`])
})

await t.test('the path and the query are sent as they are written', async (t) => {
  let asked: string | undefined
  manager.misbehave = (request, response) => {
    asked = request.url
    response.end('{"token": "cst-VCT-1", "more": 1}')
  }
  const ticket = await requests()(`${manager.url}/a%20b?c=d`, new Secret(TOKEN), signal)
  manager.misbehave = undefined
  t.equal(asked, '/session/a%20b?c=d')
  t.equal(ticket.reveal(), 'cst-VCT-1')
})

await t.test('a refused token is a refused login', async (t) => {
  manager.token = 'another'
  t.match(await failure(), { reason: 'InvalidLogin' })
  manager.token = TOKEN
})

await t.test('answers that are none', async (t) => {
  const long = JSON.stringify({ token: 'marker'.repeat(20_000) })
  const cases: readonly [string, Misbehave, RegExp][] = [
    ['no ticket of vCenter', (_, r) => r.writeHead(403).end('marker'), /status 403; check the token, and/],
    ['nothing there', (_, r) => r.writeHead(404).end(), /HTTP status 404; check its URL$/],
    ['a server error', (_, r) => r.writeHead(503).end('marker'), /HTTP status 503; see its log$/],
    ['success of another kind', (_, r) => r.writeHead(204).end(), /HTTP status 204; check its URL$/],
    ['a page', (_, r) => r.end('<html>marker</html>'), /without a ticket/],
    ['nothing', (_, r) => r.end(), /without a ticket/],
    ['null', (_, r) => r.end('null'), /without a ticket/],
    ['a number', (_, r) => r.end('{"token": 7}'), /without a ticket/],
    ['an empty ticket', (_, r) => r.end('{"token": ""}'), /without a ticket/],
    ['two lines', (_, r) => r.end('{"token": "marker\\nmarker"}'), /without a ticket/],
    ['too much', (_, r) => r.end(long), /with more than 64 kB; check its URL$/],
    ['a long ticket', (_, r) => r.end(long.slice(0, 9_000).concat('"}')), /without a ticket/],
  ]
  for (const [what, answer, message] of cases) {
    const said = await misbehaving(answer)
    t.match(said, { reason: 'SessionManagerFailed', asked: true, message }, what)
    t.match(said.message, /^no ticket from the session manager 127\.0\.0\.1:\d+: it answers with/)
  }
})

await t.test('an answer without end is read no further than its limit', async (t) => {
  const said = await misbehaving((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('marker'.repeat(1_000)));
    }
    response.on('drain', more)
    more()
  })
  t.match(said.message, /with more than 64 kB/)
})

await t.test('a redirect is not followed, so that the token goes nowhere else', async (t) => {
  const before = manager.authorizations.length
  const said = await misbehaving((_, r) => r.writeHead(302, { location: manager.url }).end())
  t.match(said.message, /HTTP status 302; redirects are not followed: configure the URL that it leads to/)
  t.equal(manager.authorizations.length, before + 1)
})

await t.test('no answer in time, whether before its head or after', async (t) => {
  for (const answer of [() => undefined, (_: unknown, r: { write(text: string): void }) => r.write('{')]) {
    const said = await misbehaving(answer as Misbehave, { deadline: 200 })
    t.match(said, {
      reason: 'SessionManagerFailed',
      message: /it did not answer within 0\.2 s; see its log$/,
    })
    t.equal(said.asked, true)
  }
})

await t.test('a certificate of nobody known gets no token, however the vCenter is trusted', async (t) => {
  const before = manager.authorizations.length
  const others: readonly Trust[] = [
    { kind: 'system' },
    { kind: 'insecure' },
    { kind: 'thumbprint', thumbprints: ['ab'.repeat(20)] },
    { kind: 'ca', pem: await readFile(vcsim.certificateFile, 'utf8') },
  ]
  for (const other of others) {
    const said = await failure({ trust: other })
    t.match(said, { reason: 'SessionManagerFailed', asked: false }, other.kind)
    t.match(said.message, /is not trusted by this system's CAs or those of caFile .*; add the CA that signed/)
  }
  t.equal(manager.authorizations.length, before)
})

await t.test('nobody there', async (t) => {
  const said = await failure({}, 'https://127.0.0.1:1/session')
  t.match(said, { reason: 'SessionManagerFailed', asked: false, message: /127\.0\.0\.1:1 cannot be reached/ })
})

await t.test('what is aborted ends with its reason', async (t) => {
  const end = new AbortController()
  manager.misbehave = () => end.abort(new Error('over'))
  await t.rejects(requests()(manager.url, new Secret(TOKEN), end.signal), { message: 'over' })
  manager.misbehave = undefined
})
