import { glob, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** Who imports one of these, however indirectly, starts a server or builds a binary. */
const SLOW = ['test/servers/build.ts', 'build/go-command.ts', 'build/binaries.ts']
/** Who imports one of these runs the vSphere CPI, or its parsers, which take minutes to build. */
const CPI = ['test/world/cpi.ts', 'test/cpi/oracle.ts']
/** What is tested there: the release, its installation, the CPI's own manifests, the demo, and the servers of the tests. */
const AROUND = /^(build|test\/(install|cpi|demo|servers))\//
/**
 * These need no server, but half a minute each, or npm's registry: whether the simulation notices what is wrong, and shrinks what it
 * found, and what npm writes.
 */
const LONG = /^test\/(simulation\/(mutations|shrink)|install\/npm)\.test\.ts$/

/** Of a module's own code: what is imported as a type alone is not there when it runs. */
const IMPORT =
  /^(?:import|export)(?! type\b)(?:[^'"]*? from)? '(\.[^']+\.ts)'|\b(?:import|import\.meta\.resolve)\('(\.[^']+\.ts)'\)/gm

/** Paths of test files, sorted. */
export interface TestFiles {
  /** Those that start no server, build no binary and take seconds. */
  readonly unit: string[]
  /** Those that need servers. */
  readonly product: string[]
  /** Those that compare Rollcall with the CPI itself, test how it is packed and installed, or what other tests rely on. */
  readonly rest: string[]
}

/** The test files below `root`: what they import, and where they are, decides which of the three they are. */
export async function testFiles(root: string): Promise<TestFiles> {
  const [slow, cpi] = [SLOW, CPI].map((paths) => paths.map((path) => join(root, path)))
  const importsOf = new Map<string, Promise<string[]>>()
  const imports = (path: string): Promise<string[]> => {
    const known = importsOf.get(path) ?? readImports(path)
    importsOf.set(path, known)
    return known
  }
  const kindOf = async (file: string): Promise<keyof TestFiles> => {
    if (LONG.test(file)) return 'rest'
    const reached = new Set([join(root, file)])
    for (const path of reached) for (const imported of await imports(path)) reached.add(imported)
    const reaches = (paths: readonly string[] = []) => paths.some((path) => reached.has(path))
    if (!reaches(slow)) return 'unit'
    return AROUND.test(file) || reaches(cpi) ? 'rest' : 'product'
  }
  const files: TestFiles = { unit: [], product: [], rest: [] }
  for await (const file of glob('{agent,controller,build,manifests,test}/**/*.test.ts', { cwd: root }))
    files[await kindOf(file)].push(file)
  for (const list of Object.values(files)) list.sort()
  return files
}

async function readImports(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  return [...text.matchAll(IMPORT)].map(([, from, dynamic]) => resolve(path, '..', from ?? dynamic ?? ''))
}
