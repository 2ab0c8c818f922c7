/** Runs the tests that need no server, as many at once as there are processors: `npm run test:unit`. */
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { runAsProgram } from '../build/entry.ts'
import { compileCache } from './servers/compile-cache.ts'
import { unitTestFiles } from './unit-files.ts'

const root = join(import.meta.dirname, '..')
/** As for `npm test`, in seconds. */
const TIMEOUT = '900'

/** Resolves with what a test file said, undefined for one that passes. Without tap's own runner it takes half the time. */
function failureOf(file: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = {
      cwd: root,
      env: { ...compileCache(process.env), TAP_TIMEOUT: TIMEOUT },
      maxBuffer: Number.POSITIVE_INFINITY,
    }
    execFile(process.execPath, [file], options, (error, stdout, stderr) =>
      resolve(error === null ? undefined : `${file}\n${stdout}${stderr}`),
    )
  })
}

async function main(): Promise<void> {
  const files = await unitTestFiles(root)
  const failed: string[] = []
  // From the end: the simulations take longest.
  const next = files.toReversed().values()
  const worker = async () => {
    for (const file of next) {
      const failure = await failureOf(file)
      if (failure === undefined) continue
      failed.push(file)
      process.stdout.write(failure)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  process.stdout.write(`${files.length} files, ${failed.length} failed\n`)
  if (failed.length > 0) throw new Error(failed.join('\n'))
}

runAsProgram(main)
