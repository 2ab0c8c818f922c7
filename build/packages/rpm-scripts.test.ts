import t, { type Test } from 'tap'
import { type PackageHost, type ScriptCall, toolCalls } from './testing/scriptlet.ts'

// What rpm runs, in its order. Each script is told how many versions are installed once it has ended.
const install: readonly ScriptCall[] = [['rpm-post', '1']]
/** The new version's script, then the old one's, as they were when it was installed. */
const upgrade: readonly ScriptCall[] = [
  ['rpm-post', '2'],
  ['rpm-preun', '1'],
  ['rpm-postun', '1'],
]
const removal: readonly ScriptCall[] = [
  ['rpm-preun', '0'],
  ['rpm-postun', '0'],
]

const kubelets = [
  '/etc/kubernetes/kubelet.conf',
  '/var/lib/rancher/k3s/agent/kubelet.kubeconfig',
  '/var/lib/rancher/rke2/agent/kubelet.kubeconfig',
]

/** What the scripts have systemd do, in order. */
function asked(
  t: Test,
  calls: readonly ScriptCall[],
  host: Omit<PackageHost, 'tools'> = {},
  systemctl = '',
): string[] {
  const lines = toolCalls(t, calls, { ...host, tools: { systemctl } })
  return lines.map((line) => line.replace('systemctl ', '').replace(' rollcall-agent.service', ''))
}

t.test('an install enables the unit, and starts it where a kubelet has joined a cluster', async (t) => {
  t.strictSame(asked(t, install), ['daemon-reload', 'enable'])
  for (const file of kubelets)
    t.strictSame(asked(t, install, { files: [file] }), ['daemon-reload', 'enable', 'start'], file)
  t.strictSame(asked(t, install, { files: kubelets }), ['daemon-reload', 'enable', 'start'], 'once')
})

t.test('an upgrade restarts what runs, and leaves a unit disabled or stopped', async (t) => {
  const restarted = ['daemon-reload', 'daemon-reload', 'try-restart']
  t.strictSame(asked(t, upgrade, { files: kubelets }), restarted)
})

t.test('a removal stops and disables the unit', async (t) => {
  t.strictSame(asked(t, removal, { files: kubelets }), ['stop', 'disable', 'daemon-reload'])
})

t.test('in an image that is being built nothing runs, but the unit is enabled', async (t) => {
  const host = { booted: false, files: kubelets }
  t.strictSame(asked(t, install, host), ['enable'])
  t.strictSame(asked(t, upgrade, host), [])
  t.strictSame(asked(t, removal, host), ['disable'])
})

t.test('where systemd refuses, rpm goes on all the same', async (t) => {
  // Each script must end well, and all that it asks for is asked.
  for (const calls of [install, upgrade, removal])
    t.strictSame(asked(t, calls, { files: kubelets }, 'exit 1'), asked(t, calls, { files: kubelets }))
})
