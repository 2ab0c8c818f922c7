import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { hostArchitecture, root } from '../programs.ts'
import { agentPackage, type PackageFormat } from './agent-package.ts'

const run = promisify(execFile)
const source = { version: '1.2.3', revision: 'none', created: '2026-01-02T03:04:05Z' }
const dir = await mkdtemp(join(tmpdir(), 'rollcall-packages-'))
t.teardown(() => rm(dir, { recursive: true }))

/** Builds a package twice, and returns the path of its file. */
async function built(t: Test, format: PackageFormat): Promise<string> {
  const once = await agentPackage(format, hostArchitecture(), source)
  const again = await agentPackage(format, hostArchitecture(), source)
  t.ok(once.content.equals(again.content), 'built twice it is the same')
  t.equal(once.name, `rollcall-agent-1.2.3-linux-${hostArchitecture()}.${format}`)
  const path = join(dir, once.name)
  await writeFile(path, once.content)
  return path
}

async function missing(...command: [string, string]): Promise<string | false> {
  return run(command[0], [command[1]]).then(
    () => false,
    () => `no ${command[0]} on this machine`,
  )
}

await t.test('the .deb', { skip: await missing('dpkg-deb', '--version') }, async (t) => {
  const path = await built(t, 'deb')
  const field = async (name: string) => (await run('dpkg-deb', ['--field', path, name])).stdout.trim()
  t.equal(await field('Architecture'), hostArchitecture())
  t.equal(await field('Version'), '1.2.3-1')
  t.match(await field('Depends'), /libc6 \(>= 2\.28\)/)

  await run('dpkg-deb', ['--raw-extract', path, join(dir, 'deb')])
  const conffiles = await readFile(join(dir, 'deb/DEBIAN/conffiles'), 'utf8')
  t.equal(conffiles.trim(), '/etc/rollcall/agent.env', 'an upgrade leaves what the operator wrote')
  for (const script of ['postinst', 'prerm', 'postrm']) {
    const file = join(dir, 'deb/DEBIAN', script)
    await t.resolves(run('sh', ['-n', file]), script)
    t.equal((await stat(file)).mode & 0o777, 0o755)
  }
  const { stdout } = await run(join(dir, 'deb/usr/bin/rollcall-agent'), ['--version'])
  t.match(stdout, /^\d+\.\d+\.\d+\n$/)
  const unit = await readFile(join(dir, 'deb/usr/lib/systemd/system/rollcall-agent.service'), 'utf8')
  t.equal(unit, await readFile(join(root, 'manifests/rollcall-agent.service'), 'utf8'))
})

/** The numbers under which an .rpm has the scripts for after an install, before a removal and after it. */
const rpmScripts = { 1024: 'rpm-post', 1025: 'rpm-preun', 1026: 'rpm-postun' }

/** The single strings of an .rpm's header by their numbers; the header comes behind the lead and the signature's. */
function rpmTexts(content: Buffer): Map<number, string> {
  const sizes = (start: number) =>
    [content.readUInt32BE(start + 8), content.readUInt32BE(start + 12)] as const
  const [signatures, signatureBytes] = sizes(96)
  const header = Math.ceil((96 + 16 + 16 * signatures + signatureBytes) / 8) * 8
  const [entries] = sizes(header)
  const store = header + 16 + 16 * entries
  const texts = new Map<number, string>()
  for (let entry = header + 16; entry < store; entry += 16) {
    if (content.readUInt32BE(entry + 4) !== 6) continue
    const start = store + content.readUInt32BE(entry + 8)
    texts.set(content.readUInt32BE(entry), content.toString('utf8', start, content.indexOf(0, start)))
  }
  return texts
}

await t.test('the .rpm', async (t) => {
  const path = await built(t, 'rpm')
  const content = await readFile(path)
  t.equal(content.readUInt32BE(0), 0xedabeedb)
  const texts = rpmTexts(content)
  for (const [tag, script] of Object.entries(rpmScripts)) {
    const source = await readFile(join(import.meta.dirname, `scripts/${script}.sh`), 'utf8')
    t.equal(texts.get(Number(tag))?.trim(), source.trim(), script)
  }
  await t.test('as rpm reads it', { skip: await missing('rpm', '--version') }, async (t) => {
    const query = async (...options: string[]) =>
      (await run('rpm', ['--query', '--package', path, ...options])).stdout
    t.equal((await query('--configfiles')).trim(), '/etc/rollcall/agent.env')
    t.match(await query('--requires'), /^glibc >= 2\.28$/m)
    t.match(
      await query('--queryformat', '%{NAME} %{VERSION}-%{RELEASE} %{BUILDHOST}'),
      'rollcall-agent 1.2.3-1 localhost',
    )
    t.match(await query('--list'), /^\/usr\/lib\/systemd\/system\/rollcall-agent\.service$/m)
    const scripts = await query('--scripts')
    for (const when of ['postinstall', 'preuninstall', 'postuninstall'])
      t.match(scripts, new RegExp(`^${when} scriptlet`, 'm'))
  })
  for (const script of ['rpm-post', 'rpm-preun', 'rpm-postun'])
    await t.resolves(run('sh', ['-n', join(import.meta.dirname, `scripts/${script}.sh`)]), script)
})
