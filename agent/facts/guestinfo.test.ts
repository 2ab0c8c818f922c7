import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../shared/clock.ts'
import { makeRoot, plant, plantTool } from '../testing/root.ts'
import { createGuestinfo, findTools as locate, type RpcTools, readToolsVersion } from './guestinfo.ts'

const { signal } = new AbortController()
/** Milliseconds after which a tool counts as hung; those that work have answered by then on a slow machine too. */
const HUNG = 3_000

/** The guest's side with these tools, paths of executables. */
function speak(tools: Partial<RpcTools>, options: Partial<Parameters<typeof createGuestinfo>[0]> = {}) {
  const findTools = () => ({ plain: undefined, privileged: undefined, ...tools })
  return createGuestinfo({ findTools, clock: systemClock, signal, ...options })
}

t.test('answers', async (t) => {
  for (const [name, script, expected] of [
    ['a value', 'echo "v 1"', { ok: true, value: 'v 1' }],
    ['a value of two lines', 'printf "a\\n\\n"', { ok: true, value: 'a\n' }],
    ['no value', 'echo "No value found" >&2; exit 1', { ok: true, value: undefined }],
    ['denied', 'echo "Permission denied" >&2; exit 1', { ok: false, reason: 'PermissionDenied' }],
    [
      'turned off',
      'echo "Unknown command" >&2; exit 1',
      { ok: false, reason: 'Disabled', message: /isolation\.tools\.setinfo\.disable/ },
    ],
    [
      'no VM, by open-vm-tools',
      'echo "Error: $0 must be run inside a virtual machine on a VMware hypervisor product." >&2; exit 255',
      { ok: false, reason: 'NotVMware' },
    ],
    [
      'no VM, by vmtoolsd',
      'echo "Unable to send command to VMware hypervisor." >&2; exit 1',
      { ok: false, reason: 'NotVMware' },
    ],
    [
      'no VM, by our helper',
      'echo "rollcall-guestinfo: not in a VMware VM" >&2; exit 1',
      { ok: false, reason: 'NotVMware' },
    ],
    [
      'no channel, by our helper',
      'echo "rollcall-guestinfo: could not open channel" >&2; exit 1',
      { ok: false, reason: 'Failed', message: /opens no channel/ },
    ],
    // What open-vm-tools prints where the host opens no channel: the null pointer.
    ['no channel', 'echo NULL >&2; exit 1', { ok: false, reason: 'Failed', message: /opens no channel/ }],
    ...[
      'RpcOut: Unable to open the communication channel',
      'RpcChannel: Unable to open the communication channel',
      'RpcChannel: Unable to create the RpcChannel object',
    ].map(
      (said) =>
        [
          said,
          `echo "${said}" >&2; exit 1`,
          { ok: false, reason: 'Failed', message: /opens no channel/ },
        ] as const,
    ),
    ...[
      'RpcOut: Unable to send the RPCI command',
      'RpcOut: Unable to receive the result of the RPCI command',
      'VSockOut: Unable to send data for the RPCI command',
      'VSockOut: Unable to receive the result of the RPCI command',
      'VSockOut: Invalid format for the result of the RPCI command',
      'rollcall-guestinfo: unable to send RPCI command',
      'rollcall-guestinfo: unable to receive RPCI command result',
      'rollcall-guestinfo: invalid format for RPCI command result',
      'rollcall-guestinfo: could not close channel',
    ].map(
      (said) =>
        [
          said,
          `echo "${said}" >&2; exit 1`,
          { ok: false, reason: 'Failed', message: /channel .* broke.*tries again/ },
        ] as const,
    ),
    ['another failure', 'echo secret >&2; exit 3', { ok: false, reason: 'Failed', message: /code 3/ }],
    ['a crash', 'kill -SEGV $$', { ok: false, reason: 'Failed', message: /SIGSEGV/ }],
    ['too much', 'head -c 200000 /dev/zero', { ok: false, reason: 'Failed', message: /more than/ }],
    ['silence', 'exec sleep 60', { ok: false, reason: 'TimedOut' }],
  ] as const) {
    const plain = plantTool(makeRoot(t), script)
    const timeout = name === 'silence' ? 100 : 5000
    const answer = await speak({ plain }, { timeout }).get('guestinfo.k')
    t.match(answer, expected, name)
    if (!answer.ok) t.notMatch(answer.message, /secret/, 'does not quote the answer')
  }
})

t.test('no tool', async (t) => {
  t.match(await speak({}).get('k'), { reason: 'ToolMissing', message: /--rpctool/ })
  t.match(await speak({ plain: '/nowhere' }).get('k'), { reason: 'ToolMissing', message: /^\/nowhere/ })
})

t.test('one argument, no shell, an empty environment', async (t) => {
  const root = makeRoot(t)
  const plain = plantTool(root, `printf '%s|' "$#" "$@" "\${SECRET-none}"`)
  process.env.SECRET = 'leaked'
  t.teardown(() => delete process.env.SECRET)
  const guestinfo = speak({ plain })
  t.same(await guestinfo.get('guestinfo.$(id)'), { ok: true, value: '1|info-get guestinfo.$(id)|none|' })
  t.same(await guestinfo.set('guestinfo.k', 'v "1"; true'), { ok: true, value: undefined })
  const privileged = plantTool(root, `printf '%s|' "$#" "$@" "\${SECRET-none}"`, 'usr/bin/vmtoolsd')
  t.same(await speak({ privileged }).get('$(id)'), { ok: true, value: '2|--cmd|info-get $(id)|none|' })
})

t.test('one call at a time', async (t) => {
  const root = makeRoot(t)
  const log = join(root, 'log')
  const plain = plantTool(root, `echo in >> ${log}; sleep 0.05; echo out >> ${log}`)
  const guestinfo = speak({ plain })
  await Promise.all([guestinfo.get('a'), guestinfo.get('b'), guestinfo.set('c', 'd')])
  t.equal(readFileSync(log, 'utf8'), 'in\nout\n'.repeat(3))
})

t.test('a call ends with the agent', async (t) => {
  const ending = new AbortController()
  const plain = plantTool(makeRoot(t), 'exec sleep 60')
  const call = speak({ plain }, { signal: ending.signal }).get('k')
  ending.abort()
  t.match(await call, { ok: false })
})

t.test('a tool that hangs costs one time-out in each round', async (t) => {
  const root = makeRoot(t)
  const log = join(root, 'log')
  const plain = plantTool(root, `echo "$1" >> ${log}; exec sleep 60`)
  const guestinfo = speak({ plain }, { timeout: HUNG })
  const answers = await Promise.all([guestinfo.get('a'), guestinfo.get('b'), guestinfo.set('c', 'd')])
  for (const answer of answers) t.match(answer, { ok: false, reason: 'TimedOut' })
  t.equal(readFileSync(log, 'utf8'), 'info-get a\n')
  guestinfo.renew()
  plantTool(root, 'echo v')
  t.same(await guestinfo.get('a'), { ok: true, value: 'v' }, 'and is asked again in the next')
})

const DENY = 'echo "Permission denied" >&2; exit 1'

/** A machine whose two tools log their commands, then do as the scripts say; and a clock that does not wait. */
function openVMTools(
  scripts: { plain?: string; privileged?: string },
  options: Partial<Parameters<typeof createGuestinfo>[0]> = {},
) {
  const root = makeRoot(t)
  const log = join(root, 'log')
  const plant = (path: string, name: string, script: string) =>
    plantTool(root, `for last; do :; done; echo "${name} $last" >> ${log}; ${script}`, path)
  if (scripts.plain !== undefined) plant('usr/bin/vmware-rpctool', 'plain', scripts.plain)
  if (scripts.privileged !== undefined) plant('usr/bin/vmtoolsd', 'privileged', scripts.privileged)
  const sleeps: number[] = []
  const clock = { sleep: async (ms: number) => void sleeps.push(ms) }
  const findTools = () => locate(root, join(root, 'opt/rollcall-agent'))
  const guestinfo = createGuestinfo({ findTools, clock, signal, ...options })
  const calls = () => {
    const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []
    rmSync(log, { force: true })
    return lines
  }
  return { root, guestinfo, calls, sleeps, plant }
}

t.test('the privileged channel', async (t) => {
  const setOnly = `case "$1" in info-set*) ${DENY};; esac; echo v`
  const { guestinfo, calls, sleeps } = openVMTools({ plain: setOnly, privileged: 'echo' })
  t.same(await guestinfo.set('k', '1'), { ok: true, value: undefined })
  t.same(calls(), ['plain info-set k 1', 'privileged info-set k 1'])
  t.same(await guestinfo.set('k', '2'), { ok: true, value: undefined })
  t.same(calls(), ['privileged info-set k 2'], 'remembered')
  t.same(await guestinfo.get('k'), { ok: true, value: 'v' })
  t.same(calls(), ['plain info-get k'], 'for the one command alone')
  guestinfo.renew()
  await guestinfo.set('k', '3')
  t.same(calls(), ['privileged info-set k 3'], 'over rounds')
  t.same(sleeps, [0, 100, 100], 'with a pause between two calls of vmtoolsd')
})

t.test('a privileged channel that no longer works', async (t) => {
  const { guestinfo, calls, plant } = openVMTools({ plain: DENY, privileged: 'echo' })
  await guestinfo.set('k', '1')
  plant('usr/bin/vmtoolsd', 'privileged', 'exit 3')
  t.match(await guestinfo.set('k', '2'), { ok: false, reason: 'PrivilegedChannelFailed' })
  plant('usr/bin/vmware-rpctool', 'plain', 'echo')
  calls()
  t.same(await guestinfo.set('k', '3'), { ok: true, value: undefined })
  t.same(calls(), ['plain info-set k 3'], 'makes the plain way worth a call again')
})

t.test(
  'vmtoolsd falls back to the plain way once, while the host clears its last channel away',
  async (t) => {
    const { root, guestinfo, calls } = openVMTools({
      plain: DENY,
      privileged: '[ -e "$0.busy" ] || exit 0; rm "$0.busy"; echo "Permission denied" >&2; exit 1',
    })
    plant(root, { 'usr/bin/vmtoolsd.busy': '' })
    t.same(await guestinfo.set('k', '1'), { ok: true, value: undefined })
    t.same(calls(), ['plain info-set k 1', 'privileged info-set k 1', 'privileged info-set k 1'])
  },
)

t.test('neither way', async (t) => {
  const auth = /guest_rpc\.rpci\.auth\.cmd\.info-set/
  for (const [name, privileged, reason, message] of [
    ['vmtoolsd is missing', undefined, 'PermissionDenied', /no vmtoolsd: install open-vm-tools/],
    ['vmtoolsd is refused', DENY, 'PrivilegedChannelRefused', /CAP_NET_BIND_SERVICE.*setinfo\.disable/],
    ['vmtoolsd fails', 'exit 7', 'PrivilegedChannelFailed', /vmtoolsd ended with code 7/],
    [
      'vmtoolsd gets no channel',
      'echo "RpcChannel: Unable to open the communication channel" >&2; exit 1',
      'PrivilegedChannelFailed',
      /opens no channel/,
    ],
    [
      "vmtoolsd's channel breaks",
      'echo "VSockOut: Unable to send data for the RPCI command" >&2; exit 1',
      'PrivilegedChannelFailed',
      /channel .* broke/,
    ],
    ['vmtoolsd hangs', 'exec sleep 60', 'PrivilegedChannelFailed', /vmtoolsd gave no answer within 3 s/],
  ] as const) {
    const scripts = { plain: DENY, ...(privileged === undefined ? {} : { privileged }) }
    const { guestinfo, calls } = openVMTools(scripts, name === 'vmtoolsd hangs' ? { timeout: HUNG } : {})
    const answer = await guestinfo.set('k', '1')
    t.match(answer, { ok: false, reason, message }, name)
    t.match(answer, { message: auth }, 'names the setting')
    if (!answer.ok) t.ok(answer.message.length <= 256, 'has room in a report')
    calls()
    if (name === 'vmtoolsd hangs') {
      t.match(await guestinfo.get('k'), { reason })
      t.same(calls(), [], 'one time-out in each round')
      continue
    }
    await guestinfo.set('k', '1')
    t.equal(calls()[0], 'plain info-set k 1', 'the plain way is tried again')
  }
})

t.test('set-info turned off is not the privileged channel', async (t) => {
  const off = 'echo "Unknown command" >&2; exit 1'
  const { guestinfo, calls } = openVMTools({ plain: off, privileged: 'echo' })
  t.match(await guestinfo.set('k', '1'), { ok: false, reason: 'Disabled' })
  t.same(calls(), ['plain info-set k 1'], 'vmtoolsd could not do better')
  const both = openVMTools({ plain: DENY, privileged: off })
  t.match(await both.guestinfo.set('k', '1'), { ok: false, reason: 'Disabled' }, 'behind the channel')
})

t.test('vmtoolsd alone, as where a distribution leaves the other out', async (t) => {
  const { guestinfo, calls } = openVMTools({ privileged: 'echo v' })
  t.same(await guestinfo.get('k'), { ok: true, value: 'v' })
  t.same(calls(), ['privileged info-get k'])
  const broken = openVMTools({ privileged: 'exit 3' })
  t.match(await broken.guestinfo.get('k'), { reason: 'Failed' }, 'nobody has asked for the channel')
})

t.test('a tool that is installed later is found in the next round', async (t) => {
  const { guestinfo, plant } = openVMTools({})
  t.match(await guestinfo.get('k'), { reason: 'ToolMissing' })
  plant('usr/bin/vmware-rpctool', 'plain', 'echo v')
  guestinfo.renew()
  t.same(await guestinfo.get('k'), { ok: true, value: 'v' })
})

t.test('where the tools are', (t) => {
  const root = makeRoot(t)
  const program = join(root, 'opt/rollcall-agent')
  t.same(locate(root, program), { plain: undefined, privileged: undefined })
  const helper = plantTool(root, 'true', 'opt/rollcall-guestinfo')
  t.equal(locate(root, program).plain, helper)
  const plain = plantTool(root, 'true')
  t.equal(locate(root, program).plain, plain, 'the host’s before the helper')
  t.equal(locate(root, program, '/named').plain, '/named')
  const privileged = plantTool(root, 'true', 'usr/bin/vmtoolsd')
  t.same(locate(root, program), { plain, privileged })
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
