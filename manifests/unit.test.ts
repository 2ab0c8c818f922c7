import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const file = join(import.meta.dirname, 'rollcall-agent.service')
const kubelets = ['kubelet', 'k3s', 'k3s-agent', 'rke2-server', 'rke2-agent'].map((name) => `${name}.service`)

/** The words of all lines that set `key`. */
function words(key: string): string[] {
  const lines = readFileSync(file, 'utf8').matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))
  return [...lines].flatMap(([, value = '']) => value.split(' '))
}

const isMissing = spawnSync('systemd-analyze', ['--version']).error !== undefined

t.test('the unit is exposed by no more than 3.0', { skip: isMissing && 'no systemd-analyze here' }, (t) => {
  const args = ['security', '--offline=yes', '--threshold=30', '--no-pager', file]
  const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  t.equal(status, 0, stdout)
  t.match(stdout, /Overall exposure level for rollcall-agent\.service: [0-2]\.\d/)
  t.end()
})

t.test('it starts behind each kubelet, with it and again with it', (t) => {
  for (const key of ['After', 'PartOf', 'WantedBy'])
    t.strictSame(
      words(key).filter((word) => kubelets.includes(word)),
      kubelets,
      key,
    )
  t.end()
})

t.test('it starts behind VMware Tools, and once vsock is there', (t) => {
  for (const unit of ['open-vm-tools.service', 'vmtoolsd.service', 'modprobe@vsock.service'])
    t.ok(words('After').includes(unit), unit)
  t.ok(words('Wants').includes('modprobe@vsock.service'))
  t.end()
})
