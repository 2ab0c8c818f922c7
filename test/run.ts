/**
 * Runs test files, several at once: `node test/run.ts unit` those that need no server, `product` these and those that try
 * Rollcall on servers, `rest` all others. A line for each says how long it took; of one that fails, all that it said.
 * Without tap's own runner, which reads every line of every test, the whole takes half the processor time. Unit tests of
 * one folder of a program share a process, because starting one costs more than most of them.
 */
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { runAsProgram } from '../build/entry.ts'
import { bundledPackages } from './bundled-packages.ts'
import { type TestFiles, testFiles } from './files.ts'
import { compileCache } from './servers/compile-cache.ts'

const root = join(import.meta.dirname, '..')
const together = join(import.meta.dirname, 'together.ts')
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
/** These wait or compute for longest. Started last, they would run alone at the end. */
const LONGEST =
  /^test\/(demo\/demo|cpi\/nodes|install\/hand-over|simulation\/(calm|mutations|simulation)|e2e\/(api-server|credential|deletion-and-signs-of-life|two-vcenters|vcenter-interruptions))/

function isKind(word: string | undefined): word is keyof TestFiles {
  return word !== undefined && word in AT_ONCE
}

/** What one process runs. */
interface Job {
  readonly name: string
  readonly files: readonly string[]
}

function alone(files: readonly string[]): readonly Job[] {
  return files.map((file) => ({ name: file, files: [file] }))
}

/** Those of a program's folder together. The others wait, or compute for half a minute: each for itself. */
function byFolder(files: readonly string[]): readonly Job[] {
  const folders = Map.groupBy(files, (file) => (/^(agent|controller)\//.test(file) ? dirname(file) : file))
  return [...folders].map(([name, inside]) => ({ name, files: inside }))
}

/** Resolves with what the tests said, undefined where all pass. */
function failureOf({ name, files }: Job, hook: string, signal: AbortSignal): Promise<string | undefined> {
  const options = {
    cwd: root,
    env: { ...compileCache(process.env), TAP_TIMEOUT: String(TIMEOUT) },
    maxBuffer: Number.POSITIVE_INFINITY,
    timeout: KILLED_AFTER,
    signal,
  }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--import', hook, ...(files.length === 1 ? files : [together, name, ...files])],
      options,
      (error, stdout, stderr) => {
        if (error === null) resolve(undefined)
        else resolve(`${stdout}${stderr}${error.killed ? `killed after ${KILLED_AFTER / 1000} s\n` : ''}`)
      },
    )
  })
}

/**
 * Spreads each list over the whole run, so that some tests compute while others wait, and few need a cluster at the same
 * time. Unit tests are short: the last of them fill the end.
 */
function mixed({ product, unit }: TestFiles): readonly Job[] {
  const spread = (jobs: readonly Job[], over: number) =>
    jobs.map((job, index) => ({ job, at: (index / jobs.length) * over }))
  const [endToEnd = [], others = []] = [true, false].map((whole) =>
    alone(product.filter((file) => file.startsWith('test/') === whole)),
  )
  return [...spread(endToEnd, 0.8), ...spread(others, 0.9), ...spread(byFolder(unit), 1)]
    .sort((a, b) => a.at - b.at)
    .map(({ job }) => job)
}

async function main([which]: readonly string[]): Promise<void> {
  if (!isKind(which)) throw new RangeError(`usage: node test/run.ts ${Object.keys(AT_ONCE).join('|')}`)
  const [kinds, hook] = await Promise.all([testFiles(root), bundledPackages(root)])
  const list = {
    unit: () => byFolder(kinds.unit),
    product: () => mixed(kinds),
    rest: () => alone(kinds.rest),
  }
  const jobs = list[which]().toSorted((a, b) => Number(LONGEST.test(b.name)) - Number(LONGEST.test(a.name)))
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort())
  const failed: string[] = []
  const next = jobs.values()
  const worker = async () => {
    for (const job of next) {
      const start = performance.now()
      const failure = await failureOf(job, hook, ending.signal)
      if (ending.signal.aborted) return
      const seconds = ((performance.now() - start) / 1000).toFixed(1).padStart(6)
      const many = job.files.length > 1 ? ` (${job.files.length} files)` : ''
      process.stdout.write(
        `${failure === undefined ? 'ok    ' : 'FAILED'} ${seconds} s  ${job.name}${many}\n`,
      )
      if (failure === undefined) continue
      failed.push(job.name)
      process.stdout.write(failure)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE[which] }, worker))
  if (ending.signal.aborted) throw new Error('ended before all files had run')
  const files = jobs.flatMap((job) => job.files).length
  process.stdout.write(`${files} files, ${failed.length} failed\n`)
  if (failed.length > 0) throw new Error(failed.join('\n'))
}

runAsProgram(() => main(process.argv.slice(2)))
