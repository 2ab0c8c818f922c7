import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { until } from '../../fixtures/until.ts'

const borrower = `
import { borrowCluster } from ${JSON.stringify(import.meta.resolve('./borrow.ts'))}
const { url, dir } = await borrowCluster()
console.log(JSON.stringify({ url, dir, pid: process.pid }))
`

interface Run {
  readonly child: ChildProcess
  readonly url: string
  readonly dir: string
  /** Of the command. */
  readonly pid: number
}

/** Runs a command with a pool, which borrows a cluster and keeps it. */
async function run(): Promise<Run> {
  const command = [process.execPath, '--input-type=module', '--eval', borrower]
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { child, ...(JSON.parse(line) as Omit<Run, 'child'>) }
}

/** Resolves once neither servers nor files are left. */
async function untilNothingIsLeft({ url, dir }: Run): Promise<void> {
  await until('the API server is gone', () =>
    fetch(url).then(
      () => false,
      (error: Error) => String((error.cause as Error).message).includes('ECONNREFUSED'),
    ),
  )
  await until('its folder is gone', () => !existsSync(join(dir, '..')))
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`${signal} ends the command, and the clusters`, async (t) => {
    const started = await run()
    const ended = once(started.child, 'exit')
    started.child.kill(signal)
    t.strictSame(await ended, [1, null])
    await untilNothingIsLeft(started)
    t.throws(() => process.kill(started.pid, 0), { code: 'ESRCH' })
  })
}

t.test('when it is killed, the clusters end by themselves', async (t) => {
  const started = await run()
  started.child.kill('SIGKILL')
  await t.resolves(untilNothingIsLeft(started))
  // A tap that is left behind ends with its last file; this command waits for its cluster.
  await until('the command is gone', () => {
    try {
      process.kill(started.pid, 0)
      return false
    } catch {
      return true
    }
  })
})

t.test('its exit code is that of the command', async (t) => {
  const child = spawn(process.execPath, [
    join(import.meta.dirname, 'main.ts'),
    process.execPath,
    '--eval',
    'process.exitCode = 3',
  ])
  t.strictSame(await once(child, 'exit'), [3, null])
})
