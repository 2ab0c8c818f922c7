import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRoot, plantTool } from '../testing/root.ts'
import { createGuestinfo } from './guestinfo.ts'
import { findRpctool } from './rpctool.ts'
import { readToolsVersion } from './tools-version.ts'

const { signal } = new AbortController()

t.test('answers', async (t) => {
  for (const [name, script, expected] of [
    ['a value', 'echo "v 1"', { ok: true, value: 'v 1' }],
    ['a value of two lines', 'printf "a\\n\\n"', { ok: true, value: 'a\n' }],
    ['no value', 'echo "No value found" >&2; exit 1', { ok: true, value: undefined }],
    ['denied', 'echo "Permission denied" >&2; exit 1', { ok: false, reason: 'PermissionDenied' }],
    ['turned off', 'echo "Unknown command" >&2; exit 1', { ok: false, reason: 'Disabled' }],
    [
      'no VM, by open-vm-tools',
      'echo "Error: $0 must be run inside a virtual machine on a VMware hypervisor product." >&2; exit 255',
      { ok: false, reason: 'NotVMware' },
    ],
    [
      'no VM, by our helper',
      'echo "rollcall-guestinfo: not in a VMware VM" >&2; exit 1',
      { ok: false, reason: 'NotVMware' },
    ],
    ['another failure', 'echo secret >&2; exit 3', { ok: false, reason: 'Failed', message: /code 3/ }],
    ['a crash', 'kill -SEGV $$', { ok: false, reason: 'Failed', message: /SIGSEGV/ }],
    ['too much', 'head -c 200000 /dev/zero', { ok: false, reason: 'Failed', message: /more than/ }],
    ['silence', 'exec sleep 60', { ok: false, reason: 'TimedOut' }],
  ] as const) {
    const tool = plantTool(makeRoot(t), script)
    const timeout = name === 'silence' ? 100 : 5000
    const answer = await createGuestinfo({ tool, signal, timeout }).get('guestinfo.k')
    t.match(answer, expected, name)
    if (!answer.ok) t.notMatch(answer.message, /secret/, 'does not quote the answer')
  }
})

t.test('no tool', async (t) => {
  t.match(await createGuestinfo({ tool: undefined, signal }).get('k'), {
    reason: 'ToolMissing',
    message: /--rpctool/,
  })
  t.match(await createGuestinfo({ tool: '/nowhere', signal }).get('k'), { reason: 'ToolMissing' })
})

t.test('one argument, no shell, an empty environment', async (t) => {
  const root = makeRoot(t)
  const tool = plantTool(root, `printf '%s|' "$#" "$@" "\${SECRET-none}"`)
  process.env.SECRET = 'leaked'
  t.teardown(() => delete process.env.SECRET)
  const guestinfo = createGuestinfo({ tool, signal })
  t.same(await guestinfo.get('guestinfo.$(id)'), { ok: true, value: '1|info-get guestinfo.$(id)|none|' })
  t.same(await guestinfo.set('guestinfo.k', 'v "1"; true'), { ok: true, value: undefined })
})

t.test('one call at a time', async (t) => {
  const root = makeRoot(t)
  const log = join(root, 'log')
  const tool = plantTool(root, `echo in >> ${log}; sleep 0.05; echo out >> ${log}`)
  const guestinfo = createGuestinfo({ tool, signal })
  await Promise.all([guestinfo.get('a'), guestinfo.get('b'), guestinfo.set('c', 'd')])
  t.equal(readFileSync(log, 'utf8'), 'in\nout\n'.repeat(3))
})

t.test('a call ends with the agent', async (t) => {
  const ending = new AbortController()
  const tool = plantTool(makeRoot(t), 'exec sleep 60')
  const call = createGuestinfo({ tool, signal: ending.signal }).get('k')
  ending.abort()
  t.match(await call, { ok: false })
})

t.test('the host’s tool is found before the helper', (t) => {
  const root = makeRoot(t)
  const program = join(root, 'opt/rollcall-agent')
  t.equal(findRpctool(root, program), undefined)
  const helper = plantTool(root, 'true', 'opt/rollcall-guestinfo')
  t.equal(findRpctool(root, program), helper)
  const tool = plantTool(root, 'true')
  t.equal(findRpctool(root, program), tool)
  t.end()
})

t.test('version of the tools', async (t) => {
  const root = makeRoot(t)
  t.equal(await readToolsVersion(root, signal), undefined, 'not installed')
  plantTool(root, 'echo "VMware Tools daemon, version 12.3.5.46049 (build-22544099)"', 'usr/bin/vmtoolsd')
  t.equal(await readToolsVersion(root, signal), '12.3.5.46049')
  plantTool(root, 'echo what; exit 1', 'usr/bin/vmtoolsd')
  t.equal(await readToolsVersion(root, signal), undefined, 'says something else')
})
