import { glob, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** Who imports one of these, however indirectly, starts a server or builds a binary. */
const SLOW = ['test/servers/build.ts', 'build/go-command.ts', 'build/binaries.ts']

/** Of a module's own code: what is imported as a type alone is not there when it runs. */
const IMPORT =
  /^(?:import|export)(?! type\b)(?:[^'"]*? from)? '(\.[^']+\.ts)'|\b(?:import|import\.meta\.resolve)\('(\.[^']+\.ts)'\)/gm

/** Paths of test files, sorted. */
export interface TestFiles {
  /** Those that start no server and build no binary. */
  readonly unit: readonly string[]
  readonly withServers: readonly string[]
}

/** The test files below `root`: what they import decides which of the two they are. */
export async function testFiles(root: string): Promise<TestFiles> {
  const slow = new Set(SLOW.map((path) => join(root, path)))
  const importsOf = new Map<string, Promise<string[]>>()
  const imports = (path: string): Promise<string[]> => {
    const known = importsOf.get(path) ?? readImports(path)
    importsOf.set(path, known)
    return known
  }
  const isUnitTest = async (file: string): Promise<boolean> => {
    const reached = new Set([join(root, file)])
    for (const path of reached) {
      if (slow.has(path)) return false
      for (const imported of await imports(path)) reached.add(imported)
    }
    return true
  }
  const unit: string[] = []
  const withServers: string[] = []
  for await (const file of glob('{agent,controller,build,manifests,test}/**/*.test.ts', { cwd: root })) {
    const kind = (await isUnitTest(file)) ? unit : withServers
    kind.push(file)
  }
  return { unit: unit.sort(), withServers: withServers.sort() }
}

async function readImports(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  return [...text.matchAll(IMPORT)].map(([, from, dynamic]) => resolve(path, '..', from ?? dynamic ?? ''))
}
