import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { readRegularFile } from '../../../agent/shared/regular-file.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { until } from '../../../test/fixtures/until.ts'
import { mountSecret } from '../../../test/world/secret-mount.ts'
import { answer, startApiStub } from '../../kubernetes/testing/api-stub.ts'
import { createLogLines } from '../../kubernetes/testing/log-lines.ts'
import { findCredential } from './find-credential.ts'
import { type SourceState, watchFolder, watchSecret } from './watch-source.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const secret = (name: string, resourceVersion: string, data?: Record<string, string> | null) => ({
  metadata: { name, namespace: 'n', resourceVersion },
  data: data && Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
})
const forbidden = {
  kind: 'Status',
  code: 403,
  reason: 'Forbidden',
  message: 'cannot list resource "secrets"',
}

t.test('one Secret is asked for, and nothing else of it kept', async (t) => {
  let write: (type: string, object: object) => void = () => undefined
  let allowed = false
  let lists = 0
  await using stub = await startApiStub((_, response, url) => {
    if (!allowed) return answer(response, 403, forbidden)
    if (!url.searchParams.has('watch')) {
      lists++
      // An API server that knows no selector.
      return answer(response, 200, {
        metadata: { resourceVersion: '1' },
        items: [secret('other', '1', { 'vc.password': 'other-password' })],
      })
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    write = (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`)
  })
  const states: SourceState[] = []
  const { logger, lines } = createLogLines()
  const end = new AbortController()
  const running = watchSecret({
    namespace: 'n',
    name: 'creds',
    client: stub.client,
    clock: systemClock,
    random: () => 0,
    logger,
    onState: (state) => states.push(state),
  })(end.signal)
  const last = () => states.at(-1)
  const fails = (words: RegExp) =>
    until(`it says ${words}`, () => {
      const state = last()
      return state?.state === 'failed' && words.test(state.message)
    })
  await fails(
    /cannot be read \(permission denied\): give the controller the rights to list and watch it.*cannot list resource/,
  )
  allowed = true
  await fails(/does not exist: create it/)
  await until('it is watched', () => stub.requests.some((request) => request.includes('watch=true')))
  const seen = stub.requests.filter((request) => !request.includes('fieldSelector=metadata.name%3Dcreds'))
  t.same(seen, [], 'never without its name')
  t.ok(stub.requests.every((request) => request.startsWith('GET /api/v1/namespaces/n/secrets?')))
  t.equal(lists, 1)
  write('ADDED', secret('creds', '2', { 'vc.username': 'u', 'vc.password': 'hunter', tls: 'hunter-key' }))
  await until('it is there', () => last()?.state === 'read')
  const state = last()
  if (state?.state !== 'read') throw new Error('it was there')
  t.equal(state.data.get('vc.password')?.reveal(), 'hunter')
  t.same([...state.data.keys()], ['vc.username', 'vc.password', 'tls'])
  t.equal(state.data.get('tls'), undefined)
  t.notMatch(inspect(states, { depth: 9 }), /hunter/)
  write('MODIFIED', secret('creds', '3', null))
  await until('it is empty', () => {
    const state = last()
    return state?.state === 'read' && state.data.size === 0
  })
  write('DELETED', secret('creds', '4', {}))
  await fails(/does not exist/)
  end.abort()
  await running
  t.notMatch(JSON.stringify(lines), /hunter|other-password/)
})

/** Follows a folder; `said` has `user/password` or the error, in order. */
function follow(t: Test, path: string) {
  const clock = createHandClock()
  const said: string[] = []
  const end = new AbortController()
  const task = watchFolder({
    path,
    readFile: async (file, maxBytes) => readRegularFile(file, maxBytes),
    readFolder: async (folder) => readdirSync(folder),
    clock,
    onState(state) {
      const found =
        state.state === 'read' ? findCredential(state.data, 'vc') : { ok: false as const, ...state }
      said.push(found.ok ? `${found.value.user}/${found.value.password.reveal()}` : JSON.stringify(found))
    },
  })
  const running = task(end.signal)
  t.teardown(async () => {
    end.abort()
    await running
  })
  return { said, looks: (count: number) => clock.turn(count * 2_000) }
}

t.test('a mounted Secret: at once, then when it has changed and stays so', async (t) => {
  const secret = await mountSecret(join(t.testdir(), 'secret'), { 'vc.username': 'u', 'vc.password': 'p\n' })
  const { said, looks } = follow(t, secret.folder)
  await looks(0)
  t.same(said, ['u/p'])
  await secret.write({ 'vc.username': 'u', 'vc.password': 'half' })
  await looks(1)
  await secret.write({ 'vc.username': 'u', 'vc.password': 'whole' })
  await looks(1)
  t.same(said.splice(0), ['u/p'])
  await looks(1)
  t.same(said.splice(0), ['u/whole'])
  await looks(9)
  t.same(said, [])
})

t.test('a folder that comes and goes, and what else may lie there', async (t) => {
  const path = join(t.testdir(), 'late')
  const { said, looks } = follow(t, path)
  await looks(0)
  t.match(said.splice(0), [/does not exist: check the path, and that it is mounted/])
  mkdirSync(path)
  mkdirSync(join(path, 'x.password'))
  symlinkSync('nowhere', join(path, 'y.username'))
  writeFileSync(join(path, 'vc.password'), 'p')
  await looks(2)
  t.match(said.splice(0), [/has no key .*vc.username.*, only .*vc.password.*x.password.*y.username/])
  writeFileSync(join(path, 'vc.username'), 'u')
  await looks(2)
  t.same(said.splice(0), ['u/p'])
  for (let i = 0; i < 1_001; i++) writeFileSync(join(path, `f${i}`), '')
  await looks(2)
  t.match(said.splice(0), [/has more than 1000 files/])
  rmSync(path, { recursive: true })
  writeFileSync(path, '')
  await looks(2)
  t.match(said.splice(0), [/is not a folder: name one/])
})
