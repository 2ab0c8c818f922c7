import { execFileSync } from 'node:child_process'
import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { goBinary } from '../../build/go-command.ts'
import { serverBinary } from './build.ts'

const main = (text: string) => `package main\n\nvar word = "${text}"\n\nfunc main() { println(word) }\n`

/** Go's own cache, by its rules: what every program has in common is compiled there already. */
const GOCACHE =
  process.env.GOCACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'go-build')

const run = (path: string) => execFileSync(path, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

t.test('builds once for the same content, and again for other content', async (t) => {
  const dir = t.testdir({
    cache: {},
    module: { 'go.mod': 'module example\n\ngo 1.26\n', 'main.go': main('one') },
  })
  const env = { ...process.env, XDG_CACHE_HOME: join(dir, 'cache'), GOCACHE }
  const command = { name: 'example', dir: join(dir, 'module') }
  const [first, same] = await Promise.all([goBinary(command, env), goBinary(command, env)])
  t.equal(same, first)
  t.ok(statSync(first).mode & 0o100)
  const built = statSync(first).mtimeMs
  t.equal(await goBinary(command, env), first)
  t.equal(statSync(first).mtimeMs, built)

  writeFileSync(join(dir, 'module/main.go'), main('two'))
  t.not(await goBinary(command, env), first)

  const output = join(dir, 'example')
  t.equal(await goBinary({ ...command, output, variables: { 'main.word': 'three' } }, env), output)
  run(output)
  t.not(await goBinary({ ...command, goos: 'linux', goarch: 'arm64' }, env), first)

  writeFileSync(join(dir, 'module/main.go'), 'package main\n\nfunc main() { nonsense() }\n')
  await t.rejects(goBinary(command, env), /building example failed: .*undefined: nonsense/s)
})

t.test('takes what KUBEBUILDER_ASSETS has', async (t) => {
  const assets = t.testdir({ etcd: '#!/bin/sh\n' })
  chmodSync(join(assets, 'etcd'), 0o755)
  t.equal(await serverBinary('etcd', { ...process.env, KUBEBUILDER_ASSETS: assets }), join(assets, 'etcd'))
})

t.test('says what to install where nothing can be built', async (t) => {
  const env = { PATH: t.testdir({}), HOME: t.testdirName }
  await t.rejects(serverBinary('etcd', env), {
    message:
      'etcd is built from Go sources and no "go" is on the PATH: ' +
      'install Go 1.26 or later, or set KUBEBUILDER_ASSETS to a folder that has etcd',
  })
  await t.rejects(serverBinary('vcsim', env), { message: /install Go 1\.26 or later$/ })
})
