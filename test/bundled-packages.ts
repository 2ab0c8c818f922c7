import { createHash } from 'node:crypto'
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
// One of the packages wants it there when its names are looked up.
import 'reflect-metadata'
import { build, type Plugin, stop } from 'esbuild'

/**
 * What test files load, directly or by what they test; but client-node, which takes longer to bundle than the few that load
 * it.
 */
export const PACKAGES: readonly string[] = [
  '@peculiar/x509',
  'ipaddr.js',
  'pino',
  'prom-client',
  'reflect-metadata',
  'saxes',
  'tap',
  'tar-stream',
  'undici',
  'valibot',
  'yaml',
]

/** What lies in a folder of this name, tap leaves out of the stacks that it shows. */
const FOLDER = 'node_modules/@tapjs'

/** Packages that are CommonJS look for these, and an ECMAScript module has none. */
const COMMON_JS = `import { createRequire as createRequireOfBundle } from 'node:module'
const require = createRequireOfBundle(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname`

/** Each package by the names that Node finds in it: of CommonJS, a bundle would export the whole alone. */
const byName: Plugin = {
  name: 'by-name',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === 'entry-point' ? { path, namespace: 'by-name' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'by-name' }, async ({ path }) => {
      // Loaded here, tap would take this process for a test.
      const names = path === 'tap' ? undefined : Object.keys(await import(path))
      const contents =
        names === undefined
          ? `export * from '${path}'; export { default } from '${path}'`
          : `export { ${names.filter((name) => name !== 'module.exports').join()} } from '${path}'`
      return { contents, resolveDir: import.meta.dirname }
    })
  },
}

/**
 * Bundles packages, each into one file with what is common to several beside it, and resolves with the path of a module
 * for `node --import` that has them loaded instead. Of some thousand small files each process would read and link the same
 * ones again, for half of the processor time that a unit test takes.
 *
 * They lie below `root`, where they find what they load at run time, and are made again when the lockfile changes.
 */
export async function bundledPackages(root: string): Promise<string> {
  const key = createHash('sha256')
    .update(await readFile(join(root, 'package-lock.json')))
    .update(await readFile(import.meta.filename))
    .digest('hex')
  const folder = join(root, 'dist/.build', `packages-${key.slice(0, 16)}`)
  const hook = join(folder, FOLDER, 'hook.mjs')
  if (await isThere(hook)) return hook
  const unfinished = `${folder}.${process.pid}`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true })
  await build({
    entryPoints: Object.fromEntries(PACKAGES.map((name) => [fileOf(name), name])),
    absWorkingDir: root,
    outdir: join(unfinished, FOLDER),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    keepNames: true,
    plugins: [byName],
    banner: { js: COMMON_JS },
    logLevel: 'error',
  })
  // Else its process would stay for as long as the tests run, with 400 MB.
  await stop()
  await writeFile(join(unfinished, FOLDER, 'hook.mjs'), hookText())
  await rename(unfinished, folder).catch(async (error: unknown) => {
    // Another run was faster.
    await rm(unfinished, { recursive: true })
    if (!(await isThere(hook))) throw error
  })
  return hook
}

function fileOf(name: string): string {
  return name.replace('/', '+')
}

function hookText(): string {
  const files = PACKAGES.map((name) => [name, `./${fileOf(name)}.mjs`])
  return `import { registerHooks } from 'node:module'
const files = new Map(${JSON.stringify(files)})
registerHooks({
  resolve(specifier, context, next) {
    const file = files.get(specifier)
    if (file === undefined) return next(specifier, context)
    return { url: new URL(file, import.meta.url).href, format: 'module', shortCircuit: true }
  },
})
`
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
