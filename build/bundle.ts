import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build, type Plugin } from 'esbuild'
import { root } from './programs.ts'

/** Of these packages, only what is used. */
const parts: Plugin = {
  name: 'parts',
  setup({ onResolve }) {
    onResolve({ filter: /^(undici|systeminformation)$/ }, ({ path }) => ({
      path: join(import.meta.dirname, `${path}.cjs`),
    }))
  },
}

/**
 * Of client-node, only what is used. Its package does not say that nothing happens when its modules are loaded, so all 800 of
 * them would be loaded: 11 MB of resident memory.
 */
const clientNode: Plugin = {
  name: 'client-node',
  setup({ onResolve, resolve }) {
    const seen = Symbol('seen')
    onResolve({ filter: /./ }, async ({ path, importer, namespace, resolveDir, kind, pluginData }) => {
      const its = path === '@kubernetes/client-node' || importer.includes('/@kubernetes/client-node/')
      if (!its || pluginData === seen) return undefined
      const found = await resolve(path, { importer, namespace, resolveDir, kind, pluginData: seen })
      return { ...found, sideEffects: false }
    })
  },
}

/**
 * Bundles a program with all it imports into one CommonJS file, the form that a single executable starts with.
 *
 * @returns our own sources and the folders of the packages that are in it, from the repository's root
 */
export async function bundle(
  entry: string,
  output: string,
): Promise<{ readonly sources: readonly string[]; readonly packages: readonly string[] }> {
  const { metafile } = await build({
    entryPoints: [entry],
    outfile: output,
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minifyWhitespace: true,
    minifySyntax: true,
    // Logs and stacks have the names of errors and functions. Shorter ones, with `keepNames`, would be 0.5 MB less text, and name
    // each closure again whenever it is made: a twenty-fifth of the controller's processor time.
    minifyIdentifiers: false,
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
    plugins: [parts, clientNode],
  })
  requireLatin1(await readFile(output, 'utf8'))
  const inputs = Object.keys(metafile.inputs)
    .filter((input) => !input.startsWith('('))
    .map((input) => relative(root, resolve(root, input)))
  const packages = inputs.map((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1])
  return {
    sources: inputs.filter((_, index) => packages[index] === undefined).sort(),
    packages: [...new Set(packages.filter((path) => path !== undefined))].sort(),
  }
}

/**
 * V8 holds a source with one character outside Latin-1 in two bytes for each: 1.4 MB more for the controller. esbuild
 * escapes such characters wherever it may, which it may not in `String.raw` and regular expressions.
 *
 * @throws Error that shows the character and the text around it.
 */
export function requireLatin1(source: string): void {
  const at = source.search(/[\u0100-\uffff]/)
  if (at === -1) return
  const around = source.slice(Math.max(0, at - 40), at + 40)
  throw new Error(`the bundle has a character outside Latin-1, write it as an escape: ${around}`)
}

const RULE = `\n${'-'.repeat(80)}\n\n`

/**
 * The texts of npm's packages, by their folders. Where an archive has none, this folder has it under the package's name.
 *
 * @throws Error that names a package whose license text is nowhere
 */
export async function notices(packages: readonly string[]): Promise<string> {
  const parts = packages.map(async (folder) => {
    const path = join(root, folder)
    const { name, version, license } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'))
    return notice(name, `${name} ${version} (${license})`, path)
  })
  return (await Promise.all(parts)).join(RULE)
}

/** The texts of Go and of the modules that a command in `dir` is built of. */
export async function goNotices(dir: string): Promise<string> {
  const go = async (...args: string[]) => (await promisify(execFile)('go', args, { cwd: dir })).stdout.trim()
  const listed = await go(
    'list',
    '-deps',
    '-f',
    '{{with .Module}}{{.Path}} {{.Version}} {{.Dir}}{{end}}',
    '.',
  )
  const modules = [...new Set(listed.split('\n'))].map((line) => line.split(' '))
  const parts = modules.flatMap(([path = '', version = '', folder = '']) =>
    folder === dir || path === '' ? [] : [notice(path, `${path} ${version}`, folder)],
  )
  const [version = '', goRoot = ''] = (await go('env', 'GOVERSION', 'GOROOT')).split('\n')
  return (await Promise.all([notice('go', `Go ${version}`, goRoot), ...parts])).join(RULE)
}

async function notice(name: string, title: string, folder: string): Promise<string> {
  const ours = `${name.replaceAll('/', '+')}.txt`
  const textsIn = async (path: string, isWanted: (file: string) => boolean) => {
    const files = (await readdir(path)).filter(isWanted).sort()
    return Promise.all(files.map((file) => readFile(join(path, file), 'utf8')))
  }
  const own = await textsIn(folder, (file) => /^(licen[cs]e|notice|copying)/i.test(file))
  const texts =
    own.length > 0 ? own : await textsIn(join(import.meta.dirname, 'licenses'), (file) => file === ours)
  if (texts.length === 0)
    throw new Error(`${name} comes without its license text: add it as build/licenses/${ours}`)
  return [`${title}\n`, ...texts].join('\n')
}
