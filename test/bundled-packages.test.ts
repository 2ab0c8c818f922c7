import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { bundledPackages, PACKAGES } from './bundled-packages.ts'

const root = join(import.meta.dirname, '..')

/** What each package exports, as Node sees it that runs with these options. */
async function exportsOf(...options: string[]): Promise<Record<string, string[]>> {
  const script = `
    import 'reflect-metadata'
    const found = {}
    for (const name of ${JSON.stringify(PACKAGES)}) found[name] = Object.keys(await import(name)).sort()
    console.log(JSON.stringify({ found, tap: import.meta.resolve('tap') }))`
  const args = [...options, '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  const { found, tap } = JSON.parse(stdout)
  t.equal(tap.includes('/dist/.build/'), options.length > 0, tap)
  return found
}

t.test('a bundled package exports what it does unbundled', async (t) => {
  const hook = await bundledPackages(root)
  const bundled = await exportsOf('--import', hook)
  for (const [name, exported] of Object.entries(await exportsOf()))
    t.strictSame(
      bundled[name],
      exported.filter((each) => each !== 'module.exports'),
      name,
    )
})
