/** Runs a command whose tests borrow clusters: `node test/servers/pool/main.ts tap`. */
import { spawn } from 'node:child_process'
import { runAsProgram } from '../../../build/entry.ts'
import { compileCache } from '../compile-cache.ts'
import { startLender } from './lender.ts'
import { LENDER_PORT } from './protocol.ts'

async function main([command, ...args]: readonly string[]): Promise<void> {
  if (command === undefined) throw new RangeError('which command shall run?')
  await using lender = await startLender()
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: { ...compileCache(process.env), [LENDER_PORT]: String(lender.port) },
  })
  // The command ends first, then the clusters. When this process is killed, they end with it: see lifeline.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => resolve(exitCode ?? 1))
  })
  const { booted, lent, discarded } = lender.counts
  const whys = discarded.map((why) => `  not lent again: ${why}\n`)
  process.stderr.write(`${lent} clusters lent, ${booted} started\n${whys.join('')}`)
  process.exitCode = code
}

runAsProgram(() => main(process.argv.slice(2)))
