/**
 * Runs a command in namespaces of its own, and takes away what it left, however it ends: `node keeper.ts FOLDER COMMAND...`.
 * It ends the command when its own input ends, as with the death of whoever started it. The folder is an empty one.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import { removeCgroup } from './cgroups.ts'
import { NAMESPACES } from './requirements.ts'

async function main([folder = '', ...command]: readonly string[]): Promise<void> {
  const child = spawn('unshare', [...NAMESPACES, ...command], { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = once(child, 'exit')
  process.stdin.resume().once('end', () => child.kill('SIGKILL'))
  const [code] = await ended
  process.stdin.destroy()
  await removeCgroup(basename(folder))
  await rmdir(folder)
  process.exitCode = code ?? 1
}

runAsProgram(() => main(process.argv.slice(2)))
