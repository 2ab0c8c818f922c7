import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { type RpctoolOptions, writeRpctool } from './rpctool.ts'
import { startVcsim } from './vcsim.ts'

const run = (tool: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(tool, args, { env: {}, encoding: 'utf8' })
  return { status, stdout, stderr }
}
const DENIED = { status: 1, stdout: '', stderr: 'Permission denied\n' }

const vcsim = await startVcsim({ vms: 2 })
t.teardown(() => vcsim.stop())
const [vm, other] = await vcsim.vms()
if (!vm || !other) throw new Error('no machines')

t.test('carries values between the guest and the simulator', async (t) => {
  const tool = await writeRpctool(t.testdir(), { vcsim, vm: vm.ref })
  t.same(run(tool, 'info-get guestinfo.k'), { status: 1, stdout: '', stderr: 'No value found\n' })
  t.same(run(tool, 'info-set guestinfo.k a value'), { status: 0, stdout: '\n', stderr: '' })
  t.same(run(tool, 'info-get guestinfo.k'), { status: 0, stdout: 'a value\n', stderr: '' })
  t.equal(await vcsim.getGuestinfo(vm.ref, 'guestinfo.k'), 'a value')
  t.equal(await vcsim.getGuestinfo(other.ref, 'guestinfo.k'), undefined)
  t.match(run(tool, 'info-set disk.EnableUUID x'), { status: 1, stderr: 'Permission denied' })
  t.notOk(existsSync(join(dirname(tool), 'vmtoolsd')))
})

t.test('the privileged channel', async (t) => {
  const dir = t.testdir()
  const write = async (how: Partial<RpctoolOptions>) => {
    const plain = await writeRpctool(dir, { vcsim, vm: vm.ref, ...how })
    return { plain, privileged: join(dir, 'vmtoolsd') }
  }
  const { plain, privileged } = await write({ deny: ['info-set'], vmtoolsd: 'works' })
  t.same(run(plain, 'info-set guestinfo.p 1'), DENIED)
  t.same(run(plain, 'info-get guestinfo.p'), { status: 1, stdout: '', stderr: 'No value found\n' })
  t.same(run(privileged, '--cmd', 'info-set guestinfo.p 2'), { status: 0, stdout: '\n', stderr: '' })
  t.same(run(privileged, '--cmd', 'info-get guestinfo.p'), { status: 0, stdout: '2\n', stderr: '' })
  t.match(run(privileged, '--version'), { status: 0, stdout: /^VMware Tools daemon, version \d+/ })
  t.match(run(privileged, 'info-get guestinfo.p'), { status: 1, stderr: /^Usage/ })

  await write({ deny: ['info-set'], vmtoolsd: 'refused' })
  t.same(run(privileged, '--cmd', 'info-set guestinfo.p 3'), DENIED)
  await write({ deny: ['info-set'], vmtoolsd: 'fails' })
  t.same(run(privileged, '--cmd', 'info-set guestinfo.p 3'), { status: 1, stdout: '', stderr: 'NULL\n' })
  await write({ disable: ['info-set'], vmtoolsd: 'works' })
  const unknown = { status: 1, stdout: '', stderr: 'Unknown command\n' }
  t.same(run(plain, 'info-set guestinfo.p 3'), unknown)
  t.same(run(privileged, '--cmd', 'info-set guestinfo.p 3'), unknown)
  t.equal(await vcsim.getGuestinfo(vm.ref, 'guestinfo.p'), '2')
})
