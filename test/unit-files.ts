import { glob, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** Who imports one of these, however indirectly, starts a server or builds a binary. */
const SLOW = ['test/servers/build.ts', 'build/go-command.ts', 'build/binaries.ts']

/** Of a module's own code: what is imported as a type alone is not there when it runs. */
const IMPORT =
  /^(?:import|export)(?! type\b)(?:[^'"]*? from)? '(\.[^']+\.ts)'|\b(?:import|import\.meta\.resolve)\('(\.[^']+\.ts)'\)/gm

/** The test files below `root` that start no server and build no binary, sorted: what they import decides. */
export async function unitTestFiles(root: string): Promise<string[]> {
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
  const files: string[] = []
  for await (const file of glob('{agent,controller,build,manifests,test}/**/*.test.ts', { cwd: root })) {
    if (await isUnitTest(file)) files.push(file)
  }
  return files.sort()
}

async function readImports(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  return [...text.matchAll(IMPORT)].map(([, from, dynamic]) => resolve(path, '..', from ?? dynamic ?? ''))
}
