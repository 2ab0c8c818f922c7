import t, { type Test } from 'tap'
import { toolCalls } from './testing/scriptlet.ts'

const unit = 'rollcall-agent.service'

/** What the script has systemd do on a machine of this kind, in order. */
function asked(
  t: Test,
  args: readonly string[],
  {
    booted = true,
    joined = false,
    enabled = true,
  }: { booted?: boolean; joined?: boolean; enabled?: boolean } = {},
): string[] {
  const wasEnabled = `[ "$2" != was-enabled ] || ${enabled ? 'exit 0' : 'exit 1'}`
  return toolCalls(t, [['deb-postinst', ...args]], {
    booted,
    files: joined ? ['/etc/kubernetes/kubelet.conf'] : [],
    tools: { systemctl: '', 'deb-systemd-invoke': '', 'deb-systemd-helper': wasEnabled },
  })
}

/** Without what only changes files. */
const done = (lines: readonly string[]) =>
  lines.filter((line) => !line.startsWith('deb-systemd-helper') && !line.endsWith('daemon-reload'))

t.test('a first install starts the agent where a kubelet has joined a cluster', (t) => {
  t.same(done(asked(t, ['configure', ''], { joined: true })), [`deb-systemd-invoke start ${unit}`])
  t.same(done(asked(t, ['configure', ''])), [])
  t.end()
})

t.test('an upgrade, and an install after a removal, go by whether the unit is enabled', (t) => {
  // dpkg tells both the same; what is stopped by the removal must not wait for the next boot.
  const restarted = [`deb-systemd-invoke restart ${unit}`]
  t.same(done(asked(t, ['configure', '1.0.0-1'], { joined: true })), restarted)
  t.same(done(asked(t, ['configure', '1.0.0-1'])), restarted)
  t.end()
})

t.test('systemd is asked past policy-rc.d for nothing but to read its units', (t) => {
  for (const args of [['configure', ''], ['configure', '1.0.0-1'], ['abort-remove']]) {
    const plain = asked(t, args, { joined: true }).filter((line) => line.startsWith('systemctl'))
    t.same(plain, ['systemctl --system daemon-reload'], args.join(' '))
  }
  t.end()
})

t.test('a unit that was disabled stays so', (t) => {
  const lines = asked(t, ['configure', '1.0.0-1'], { enabled: false })
  t.notOk(lines.includes(`deb-systemd-helper enable ${unit}`))
  t.ok(asked(t, ['configure', '1.0.0-1']).includes(`deb-systemd-helper enable ${unit}`))
  t.end()
})

t.test('in an image that is being built nothing runs, and dpkg has calls that are none of ours', (t) => {
  t.same(done(asked(t, ['configure', ''], { booted: false, joined: true })), [])
  t.same(done(asked(t, ['configure', '1.0.0-1'], { booted: false, joined: true })), [])
  t.same(asked(t, ['triggered', 'x'], { joined: true }), [])
  t.end()
})
