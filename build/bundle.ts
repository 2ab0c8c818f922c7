import { join, relative, resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { root } from './programs.ts'

export interface Bundle {
  /** Our own sources that are in it, from the repository's root. */
  readonly sources: readonly string[]
  /** Folders of the packages that are in it, from the repository's root. */
  readonly packages: readonly string[]
}

/** Of undici, only what is used. */
const undici: Plugin = {
  name: 'undici',
  setup({ onResolve }) {
    onResolve({ filter: /^undici$/ }, () => ({ path: join(import.meta.dirname, 'undici.cjs') }))
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
 */
export async function bundle(entry: string, output: string): Promise<Bundle> {
  const { metafile } = await build({
    entryPoints: [entry],
    outfile: output,
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minify: true,
    // Names of errors and functions stand in logs and stacks.
    keepNames: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
    plugins: [undici, clientNode],
  })
  const inputs = Object.keys(metafile.inputs)
    .filter((input) => !input.startsWith('('))
    .map((input) => relative(root, resolve(root, input)))
  const packages = inputs.map((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1])
  return {
    sources: inputs.filter((_, index) => packages[index] === undefined).sort(),
    packages: [...new Set(packages.filter((path) => path !== undefined))].sort(),
  }
}
