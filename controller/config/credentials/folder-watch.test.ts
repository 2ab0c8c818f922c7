import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { mountSecret } from '../../../test/world/secret-mount.ts'
import { readRegularFile } from '../../lib/read-regular-file.ts'
import { findCredential } from './find-credential.ts'
import { watchFolder } from './watch-source.ts'

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
