import { getEventListeners } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { makeRoot, plantTool } from '../testing/root.ts'
import { runTool } from './run-process.ts'

const { signal } = new AbortController()
const options = { env: { PATH: '/usr/bin:/bin' }, timeout: 5000, maxOutput: 1000, signal }

/** Resolves once the process is no more, or a zombie that nobody has to wait for. */
async function gone(pid: number): Promise<boolean> {
  for (let i = 0; i < 100; i++) {
    if (!existsSync(`/proc/${pid}`) || /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')))
      return true
    await sleep(20)
  }
  return false
}

async function pidIn(file: string): Promise<number> {
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await sleep(10)
  return Number(readFileSync(file, 'utf8'))
}

t.test('how a tool ends', async (t) => {
  for (const [script, expected] of [
    ['echo out; echo err >&2; exit 3', { kind: 'ended', code: 3, stdout: 'out\n', stderr: 'err\n' }],
    ['kill -SEGV $$', { kind: 'ended', code: null, signal: 'SIGSEGV' }],
    ['trap "" TERM; exec yes', { kind: 'too-long' }],
    ['cat', { kind: 'ended', code: 0, stdout: '' }],
  ] as const) {
    t.match(await runTool(plantTool(makeRoot(t), script), [], options), expected, script)
  }
  t.same(await runTool('/nowhere', [], options), { kind: 'not-started', code: 'ENOENT' })
  t.same(await runTool('/etc/passwd', [], options), { kind: 'not-started', code: 'EACCES' })
})

t.test('what a tool has started dies with it', async (t) => {
  for (const how of ['time-out', 'abort', 'too much']) {
    const root = makeRoot(t)
    const file = join(root, 'pid')
    const flood = how === 'too much' ? 'head -c 2000 /dev/zero;' : ''
    const tool = plantTool(root, `sleep 60 & echo $! > ${file}; ${flood} wait`)
    const ending = new AbortController()
    const call = runTool(tool, [], {
      ...options,
      signal: ending.signal,
      timeout: how === 'time-out' ? 3000 : 5000,
    })
    const pid = await pidIn(file)
    if (how === 'abort') ending.abort()
    t.same(await call, { kind: how === 'too much' ? 'too-long' : 'late' }, how)
    t.ok(await gone(pid), 'the process it had started')
  }
})

t.test('a process that cannot be killed with the group holds nothing', async (t) => {
  const root = makeRoot(t)
  const file = join(root, 'pid')
  const tool = plantTool(root, `setsid sh -c 'echo $$ > ${file}; exec sleep 60' &\nexit 0`)
  t.same(await runTool(tool, [], { ...options, timeout: 3000 }), { kind: 'late' })
  const pid = await pidIn(file)
  t.doesNotThrow(() => process.kill(pid, 'SIGKILL'), 'it is there still')
})

t.test('a tool that has ended leaves nothing behind with its caller', async (t) => {
  const ending = new AbortController()
  const root = makeRoot(t)
  for (const [tool, limits] of [
    [plantTool(root, 'exit 0'), options],
    [plantTool(root, 'exec sleep 60', 'hangs'), { ...options, timeout: 100 }],
    ['/nowhere', options],
  ] as const) {
    await runTool(tool, [], { ...limits, signal: ending.signal })
    t.same(getEventListeners(ending.signal, 'abort'), [], tool)
  }
})

t.test('nothing is started once the caller has ended', async (t) => {
  const root = makeRoot(t)
  const tool = plantTool(root, `touch ${root}/started`)
  t.same(await runTool(tool, [], { ...options, signal: AbortSignal.abort() }), { kind: 'late' })
  t.notOk(existsSync(join(root, 'started')))
})
