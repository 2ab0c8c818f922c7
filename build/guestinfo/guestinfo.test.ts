import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { createGuestinfo } from '../../agent/facts/guestinfo.ts'
import { systemClock } from '../../agent/shared/clock.ts'
import { goBinary } from '../go-command.ts'

const run = promisify(execFile)
const dir = import.meta.dirname

t.test('the module’s own tests', async (t) => {
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' }
  const { stdout } = await run('go', ['test', './...'], { cwd: dir, env })
  t.match(stdout, /^ok/)
})

t.test('it says where it is not, in words that the agent knows', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-guestinfo-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const tool = await goBinary({ name: 'rollcall-guestinfo', dir, output: join(folder, 'rollcall-guestinfo') })
  const { signal } = new AbortController()
  const findTools = () => ({ plain: tool, privileged: undefined })
  // In a VMware VM, as a developer's machine may be, the hypervisor answers.
  t.match(
    await createGuestinfo({ findTools, clock: systemClock, signal }).get('guestinfo.rollcall.none'),
    (await inVMware()) ? { ok: true, value: undefined } : { ok: false, reason: 'NotVMware' },
  )
  await t.rejects(run(tool, []), { code: 2, stderr: /^usage: rollcall-guestinfo COMMAND/ })
})

async function inVMware(): Promise<boolean> {
  return run('grep', ['-qi', 'vmware', '/sys/class/dmi/id/sys_vendor']).then(
    () => true,
    () => false,
  )
}
