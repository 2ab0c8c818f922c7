import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { canAccess, showProgress, withLock } from './entry.ts'
import { cacheFolder } from './programs.ts'

/** A Go command of this repository, and how it is linked. */
export interface GoCommand {
  /** The file name of the binary, and its name in messages. */
  name: string
  /** The folder of the Go module. */
  dir: string
  /** The package inside the module, "." by default. */
  package?: string
  /** Values for `-X importpath.name=value`. */
  variables?: Record<string, string>
  /** Target other than this machine, for binaries that are shipped. */
  goos?: string
  goarch?: string
  /** About how long a build with nothing cached takes on two cores, for the progress line. */
  takes?: string
  /** Where the binary goes; without it, the user's cache folder. */
  output?: string
  /** What else would do on a machine without Go, as "set X". */
  instead?: string
}

/** Builds a Go command once per content of its module, Go version and flags; returns the path of the binary. */
export async function goBinary(
  command: GoCommand,
  env: NodeJS.ProcessEnv = process.env,
  signal?: AbortSignal,
): Promise<string> {
  const version = await goVersion(command, env)
  const args = buildArguments(command)
  const target = { GOOS: command.goos ?? '', GOARCH: command.goarch ?? '' }
  const key = await contentKey(command.dir, [version, ...args, target.GOOS, target.GOARCH])
  const cache = cacheFolder('servers', env)
  const output = command.output ?? join(cache, `${command.name}-${key}`, command.name)
  // A path that was asked for says nothing of its content, so only a cached binary may be taken as it is.
  if (!command.output && (await canAccess(output, constants.X_OK))) return output

  await mkdir(cache, { recursive: true })
  const build = async () => {
    if (!command.output && (await canAccess(output, constants.X_OK))) return output
    await mkdir(resolve(output, '..'), { recursive: true })
    const unfinished = `${output}.${process.pid}`
    try {
      const all = [...args, '-o', unfinished, command.package ?? '.']
      await compile(command, all, { ...env, ...target }, signal)
      await rename(unfinished, output)
    } finally {
      await rm(unfinished, { force: true })
    }
    return output
  }
  return withLock(join(cache, `${command.name}-${key}.lock`), build, signal)
}

function buildArguments(command: GoCommand): string[] {
  const variables = Object.entries(command.variables ?? {}).map(([name, value]) => `-X ${name}=${value}`)
  return ['build', '-trimpath', '-buildvcs=false', '-ldflags', ['-s -w', ...variables].join(' ')]
}

async function compile(
  command: GoCommand,
  args: string[],
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted()
  const about = command.takes === undefined ? '' : `, about ${command.takes} where nothing is cached`
  const done = showProgress(`building ${command.name}${about}`)
  // go removes its own only if it is left to end by itself.
  const temporary = await mkdtemp(join(tmpdir(), 'rollcall-build-'))
  try {
    const goEnv = { ...env, CGO_ENABLED: '0', GOWORK: 'off', GOTMPDIR: temporary }
    await go(args, goEnv, command.dir, signal)
  } catch (error) {
    done('failed')
    throw new Error(
      `building ${command.name} failed: ${error instanceof Error ? error.message : String(error)}`,
    )
  } finally {
    await rm(temporary, { recursive: true, force: true, maxRetries: 5 })
  }
  done('built')
}

async function goVersion({ name, dir, instead }: GoCommand, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    return await go(['env', 'GOVERSION', 'GOOS', 'GOARCH'], env, dir)
  } catch (error) {
    const or = instead === undefined ? '' : `, or ${instead}`
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    const why = missing ? 'no "go" is on the PATH' : `"go" does not work here: ${lastLine(error)}`
    throw new Error(`${name} is built from Go sources and ${why}: install Go 1.26 or later${or}`)
  }
}

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.trim().split('\n').at(-1) ?? ''
}

/** Runs go and resolves with its output; a failure carries the end of what go said. */
function go(args: string[], env: NodeJS.ProcessEnv, cwd: string, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    // Whoever can abort does so: in a group of its own, go's compilers end with it and a Ctrl-C comes by us alone.
    const detached = signal !== undefined
    const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached })
    const end = () => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }
    signal?.addEventListener('abort', end, { once: true })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-4000)
    })
    child.on('error', reject)
    child.on('close', (code) => {
      signal?.removeEventListener('abort', end)
      if (code === 0) resolve(stdout)
      else reject(new Error(stderr.trim() || `go ${args[0]} ended with code ${code}`))
    })
  })
}

/** A hash over all that decides the binary: the module's files, local modules that it replaces, and `extra`. */
async function contentKey(dir: string, extra: string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const part of extra) hash.update(`${part}\0`)
  const mod = await readFile(join(dir, 'go.mod'), 'utf8')
  const local = [...mod.matchAll(/=> (\.\.?\/\S+)/g)].map((match) => join(dir, match[1] ?? ''))
  for (const module of [dir, ...local]) {
    const entries = await readdir(module, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    for (const file of files.sort()) {
      if (!/\.go$|^go\.(mod|sum)$/.test(basename(file))) continue
      hash.update(`${file.slice(module.length)}\0`).update(await readFile(file))
    }
  }
  return hash.digest('hex').slice(0, 16)
}
