import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'

const Lockfile = v.object({
  packages: v.record(
    v.string(),
    v.object({ version: v.optional(v.string()), integrity: v.optional(v.string()) }),
  ),
})

/**
 * Compares what npm says that it installed with what the lockfile names, for a release says that it was built from the
 * latter. The files themselves are not looked at.
 *
 * @param folder has package-lock.json and node_modules
 * @throws Error that names the packages that differ
 */
export async function checkInstalled(folder: string): Promise<void> {
  const read = async (path: string) =>
    v.parse(Lockfile, JSON.parse(await readFile(join(folder, path), 'utf8'))).packages
  const named = await read('package-lock.json')
  const installed = await read('node_modules/.package-lock.json')
  const others = Object.entries(installed)
    .filter(([path, { version, integrity }]) => {
      const expected = named[path]
      return expected?.version !== version || expected?.integrity !== integrity
    })
    .map(([path]) => path)
  if (others.length > 0)
    throw new Error(`${others.join(', ')}: not what package-lock.json names; run npm ci, then again`)
}
