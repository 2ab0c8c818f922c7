import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { writeRpctool } from './rpctool.ts'
import { startVcsim } from './vcsim.ts'

const run = (tool: string, command: string) => {
  const { status, stdout, stderr } = spawnSync(tool, [command], { env: {}, encoding: 'utf8' })
  return { status, stdout, stderr }
}

t.test('carries values between the guest and the simulator', async (t) => {
  await using vcsim = await startVcsim({ vms: 2 })
  const [vm, other] = await vcsim.vms()
  if (!vm || !other) throw new Error('no machines')
  const tool = await writeRpctool(t.testdir(), { vcsim, vm: vm.ref })
  t.same(run(tool, 'info-get guestinfo.k'), { status: 1, stdout: '', stderr: 'No value found\n' })
  t.same(run(tool, 'info-set guestinfo.k a value'), { status: 0, stdout: '\n', stderr: '' })
  t.same(run(tool, 'info-get guestinfo.k'), { status: 0, stdout: 'a value\n', stderr: '' })
  t.equal(await vcsim.getGuestinfo(vm.ref, 'guestinfo.k'), 'a value')
  t.equal(await vcsim.getGuestinfo(other.ref, 'guestinfo.k'), undefined)
  t.match(run(tool, 'info-set disk.EnableUUID x'), { status: 1, stderr: 'Permission denied' })

  const denied = await writeRpctool(join(t.testdirName, 'denied'), { vcsim, vm: vm.ref, deny: ['info-set'] })
  t.same(run(denied, 'info-set guestinfo.k b'), { status: 1, stdout: '', stderr: 'Permission denied\n' })
  t.same(run(denied, 'info-get guestinfo.k'), { status: 0, stdout: 'a value\n', stderr: '' })
})
