import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readDebianPackages } from './debian.ts'

const skip = spawnSync('dpkg-deb', ['--version']).error !== undefined && 'no dpkg-deb on this machine'

t.test('a cached package is taken only as it is pinned', { skip }, async (t) => {
  const dir = t.testdir({
    package: {
      DEBIAN: { control: 'Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: a\n' },
      x: 'right',
    },
    bin: {},
  })
  const original = join(dir, 'a.deb')
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', join(dir, 'package'), original], {
    stdio: 'ignore',
  })
  const hash = createHash('sha256').update(readFileSync(original)).digest('hex')
  const log = join(dir, 'log')
  writeFileSync(log, '')
  // Stands in for apt, which would ask the network: "update", or "download" into the folder that it is called in.
  const apt = `#!/bin/sh\ncase "$*" in *download*) echo download >>'${log}'; cp '${original}' .;; esac\n`
  writeFileSync(join(dir, 'bin/apt-get'), apt)
  chmodSync(join(dir, 'bin/apt-get'), 0o755)
  const { PATH } = process.env
  process.env.PATH = `${join(dir, 'bin')}:${PATH}`
  t.teardown(() => {
    process.env.PATH = PATH
  })

  const pin = { name: 'a', version: '1', sha256: { amd64: hash, arm64: hash } }
  const read = async () => {
    const [found] = await readDebianPackages([pin], 'amd64', () => true, {
      XDG_CACHE_HOME: join(dir, 'cache'),
    })
    return found?.entries.flatMap((entry) => (entry.type === 'file' ? [String(entry.content)] : []))
  }
  const downloads = () => readFileSync(log, 'utf8').split('\n').length - 1
  const cached = join(dir, 'cache/rollcall/packages', `a-${hash}.deb`)

  t.same(await read(), ['right'])
  t.equal(downloads(), 1)
  t.same(await read(), ['right'])
  t.equal(downloads(), 1, 'from the cache')
  writeFileSync(join(dir, 'package/x'), 'wrong')
  execFileSync('dpkg-deb', ['--build', join(dir, 'package'), cached], { stdio: 'ignore' })
  t.same(await read(), ['right'], 'whatever lies there by its name')
  t.equal(downloads(), 2)
})
