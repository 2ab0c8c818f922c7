import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { root } from '../programs.ts'
import { cloudInit, ignition } from './first-boot.ts'

const unit = readFileSync(join(root, 'manifests/rollcall-agent.service'), 'utf8')

t.test('Ignition fetches the programs, and runs them from where it puts them', (t) => {
  const content = Buffer.from('program')
  const programs = { 'rollcall-agent': { file: 'rollcall-agent-1.0.0-linux-amd64.gz', content } }
  const config = JSON.parse(ignition(unit, programs))
  const [file] = config.storage.files
  t.equal(file.path, '/opt/bin/rollcall-agent')
  t.equal(file.mode, 0o755)
  t.match(file.contents.source, /\/rollcall-agent-1\.0\.0-linux-amd64\.gz$/)
  const hash = createHash('sha512').update(content).digest('hex')
  t.equal(file.contents.verification.hash, `sha512-${hash}`)
  const [{ name, enabled, contents }] = config.systemd.units
  t.strictSame([name, enabled], ['rollcall-agent.service', true])
  t.match(contents, /^ExecStart=\/opt\/bin\/rollcall-agent /m)
  t.notMatch(contents, '/usr/bin/')
  t.end()
})

t.test('cloud-init installs the package that it was written for, and no other', (t) => {
  const packages = ['amd64', 'arm64'].map((architecture) => ({
    name: `rollcall-agent-1.0.0-linux-${architecture}.deb`,
    content: Buffer.from(`package for ${architecture}`),
  }))
  const { runcmd } = parse(cloudInit('1.0.0', packages))
  t.equal(runcmd.length, 1)
  const dir = mkdtempSync(join(tmpdir(), 'rollcall-first-boot-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  // Stand-ins for what asks the machine and the network; /run is this folder.
  const tools = {
    dpkg: 'echo arm64',
    curl: 'for url; do :; done; printf "$SERVED" >"$(basename "$url")"; echo "$url"',
    'apt-get': 'echo "apt-get $*"',
  }
  for (const [name, body] of Object.entries(tools)) {
    writeFileSync(join(dir, name), `#!/bin/sh\n${body}\n`)
    chmodSync(join(dir, name), 0o755)
  }
  const run = (served: string) =>
    spawnSync('sh', ['-c', String(runcmd[0]).replace('cd /run', `cd ${dir}`)], {
      encoding: 'utf8',
      env: { PATH: `${dir}:${process.env.PATH}`, SERVED: served },
    })
  const right = run('package for arm64')
  t.equal(right.status, 0, right.stderr)
  t.match(right.stdout, 'https://files.example.com/rollcall/rollcall-agent-1.0.0-linux-arm64.deb')
  t.match(
    right.stdout,
    'apt-get install --yes --no-install-recommends /run/rollcall-agent-1.0.0-linux-arm64.deb',
  )
  const wrong = run('something else')
  t.not(wrong.status, 0)
  t.notMatch(wrong.stdout, 'apt-get')
  t.end()
})
