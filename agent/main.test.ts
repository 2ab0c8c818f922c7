import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { parseSpec } from './shared/node-report.ts'
import { makeRoot, plant, plantTool, VM_TREE } from './testing/root.ts'

/** Runs the agent from source; `until` ends it by SIGTERM once that text stands on stderr, `node` is for Node.js itself. */
function run(
  args: readonly string[],
  { until, node = [] }: { until?: string; node?: readonly string[] } = {},
) {
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    const main = join(import.meta.dirname, 'main.ts')
    const child = spawn(process.execPath, [...node, main, ...args], { env: {} })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
      if (until !== undefined && stderr.includes(until)) child.kill('SIGTERM')
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

t.test('options', async (t) => {
  t.match(await run(['--version']), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/, stderr: '' })
  t.match(await run(['--help']), { code: 0, stdout: /--kubeconfig FILE/, stderr: '' })
  t.match(await run(['--rfresh', '1h']), {
    code: 2,
    stdout: '',
    stderr: 'rollcall-agent: --rfresh: unknown option, did you mean --refresh?\n',
  })
})

t.test('--print shows the report and sends nothing', async (t) => {
  const root = makeRoot(t, VM_TREE)
  plantTool(root, `case $1 in info-set*) touch ${root}/written;; esac; echo "No value found" >&2; exit 1`)
  const { code, stdout, stderr } = await run(['--print', '--root', root])
  t.equal(code, 0)
  const object = JSON.parse(stdout)
  t.match(parseSpec(object.spec), { ok: true })
  t.match(object.spec, {
    machine: { serialUUID: /^420e3f74-/ },
    claim: { written: false, reason: 'NotTried', message: /guestinfo\.rollcall\.claim is not set$/ },
  })
  t.match(JSON.parse(stderr), { level: 'warn', reason: /--kubeconfig/ })
  const again = await run(['--print', '--root', root])
  t.equal(again.stdout, stdout, 'equal facts give equal bytes')
})

t.test('--print --kubelet-args is for a machine that has no kubelet yet', async (t) => {
  const root = makeRoot(t, VM_TREE)
  const given = /^--provider-id=vsphere:\/\/420e3f74-\S+ --node-ip=[\d.]+\n$/
  t.match(await run(['--print', '--kubelet-args', '--root', root]), { code: 0, stdout: given, stderr: '' })
  const nowhere = await run(['--print', '--kubelet-args', '--root', makeRoot(t, {})])
  t.match(nowhere, { code: 1, stdout: '', stderr: /^rollcall-agent: \S+product_serial [^\n]+\n$/ })
})

t.test('--once fails where nothing can be sent', async (t) => {
  const root = makeRoot(t, VM_TREE)
  const { code, stderr } = await run(['--once', '--root', root, '--kubeconfig', '/nowhere'])
  t.equal(code, 1)
  t.match(stderr, /kubeconfig \/nowhere is not there/)
})

t.test('DMI of every kind goes into a report', async (t) => {
  for (const [name, serial, reason] of [
    ['empty', '', 'Empty'],
    ['not set', 'Not Specified', 'NotSet'],
    ['not VMware', 'PF2ABCDE', 'NotVMware'],
    ['64 kB of garbage', Buffer.alloc(65_536, 0xa7), 'TooLong'],
  ] as const) {
    const root = makeRoot(t, VM_TREE)
    plant(root, { 'sys/class/dmi/id/product_serial': serial })
    const { code, stdout } = await run(['--print', '--root', root])
    t.equal(code, 0, name)
    const { spec } = JSON.parse(stdout)
    t.match(spec.unreadable, [{ fact: 'machine.serialUUID', reason }])
    t.match(spec.machine.productUUID, /^743f0e42-/, 'the rest goes on')
  }
})

t.test('SIGTERM ends the agent at once, whatever it waits for', async (t) => {
  const root = makeRoot(t, VM_TREE)
  // No wait of its own runs out, so that nothing but the signal can end one; or the end of this process.
  const preload = `
    globalThis.setTimeout = () => setInterval(() => {}, 1e9)
    process.stdin.resume().on('close', () => process.exit(1))`
  const node = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
  const args = ['--root', root, '--kubeconfig', '/nowhere']
  const waiting = await run(args, { until: 'the report was not sent', node })
  t.match(waiting, { code: 0, stderr: /the agent ends/ }, 'the next attempt does not hold it')
  plantTool(root, 'kill -TERM $PPID; while echo; do sleep 1; done')
  const hanging = await run(args, { node })
  t.match(hanging, { code: 0, stderr: /the agent ends/ }, 'a tool that hangs does not hold it')
})
