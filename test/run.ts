/**
 * Runs test files, several at once: `node test/run.ts unit` those that need no server, `product` these and those that try
 * Rollcall on servers, `rest` all others. A line for each says how long it took; of one that fails, all that it said.
 * Without tap's own runner, which reads every line of every test, the whole takes half the processor time.
 */
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { runAsProgram } from '../build/entry.ts'
import { bundledPackages } from './bundled-packages.ts'
import { type TestFiles, testFiles } from './files.ts'
import { compileCache } from './servers/compile-cache.ts'

const root = join(import.meta.dirname, '..')
/** Seconds for one file: patience, not a limit that a slow machine could meet. */
const TIMEOUT = 900
/** One that has ended its tests and is still there after that holds something open, which is a failure. */
const KILLED_AFTER = (TIMEOUT + 60) * 1000
/** Those with servers wait for most of their time; more of them at once make each cost more. */
const AT_ONCE = {
  unit: availableParallelism(),
  product: 4 * availableParallelism(),
  rest: 4 * availableParallelism(),
}
/** These take minutes. Started last, they would run alone at the end. */
const LONGEST = /^test\/(demo\/demo|differential|e2e\/(credential|deletion-brake-and|vcenter-hang))/

function isKind(word: string | undefined): word is keyof TestFiles {
  return word !== undefined && word in AT_ONCE
}

/** Resolves with what a test file said, undefined for one that passes. */
function failureOf(file: string, hook: string, signal: AbortSignal): Promise<string | undefined> {
  const options = {
    cwd: root,
    env: { ...compileCache(process.env), TAP_TIMEOUT: String(TIMEOUT) },
    maxBuffer: Number.POSITIVE_INFINITY,
    timeout: KILLED_AFTER,
    signal,
  }
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', hook, file], options, (error, stdout, stderr) => {
      if (error === null) resolve(undefined)
      else resolve(`${stdout}${stderr}${error.killed ? `killed after ${KILLED_AFTER / 1000} s\n` : ''}`)
    })
  })
}

/**
 * Spreads each list over the whole run, so that some files compute while others wait, and few need a cluster at the same
 * time. Unit tests are short: the last of them fill the end.
 */
function mixed({ product, unit }: TestFiles): readonly string[] {
  const spread = (files: readonly string[], over: number) =>
    files.map((file, index) => ({ file, at: (index / files.length) * over }))
  const endToEnd = product.filter((file) => file.startsWith('test/'))
  const others = product.filter((file) => !file.startsWith('test/'))
  return [...spread(endToEnd, 0.8), ...spread(others, 0.9), ...spread(unit, 1)]
    .sort((a, b) => a.at - b.at)
    .map(({ file }) => file)
}

async function main([which]: readonly string[]): Promise<void> {
  if (!isKind(which)) throw new RangeError(`usage: node test/run.ts ${Object.keys(AT_ONCE).join('|')}`)
  const [kinds, hook] = await Promise.all([testFiles(root), bundledPackages(root)])
  const list = which === 'product' ? mixed(kinds) : kinds[which]
  const files = list.toSorted((a, b) => Number(LONGEST.test(b)) - Number(LONGEST.test(a)))
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort())
  const failed: string[] = []
  const next = files.values()
  const worker = async () => {
    for (const file of next) {
      const start = performance.now()
      const failure = await failureOf(file, hook, ending.signal)
      if (ending.signal.aborted) return
      const seconds = ((performance.now() - start) / 1000).toFixed(1).padStart(6)
      process.stdout.write(`${failure === undefined ? 'ok    ' : 'FAILED'} ${seconds} s  ${file}\n`)
      if (failure === undefined) continue
      failed.push(file)
      process.stdout.write(failure)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE[which] }, worker))
  if (ending.signal.aborted) throw new Error('ended before all files had run')
  process.stdout.write(`${files.length} files, ${failed.length} failed\n`)
  if (failed.length > 0) throw new Error(failed.join('\n'))
}

runAsProgram(() => main(process.argv.slice(2)))
