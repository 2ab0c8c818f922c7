/** The root file system and the kernel that all runs share: made once by `recipe.sh`, and again when that changes. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { showProgress, withLock } from '../../build/entry.ts'
import { cacheFolder } from '../../build/programs.ts'

/** Paths of its files. */
export interface MachineImage {
  readonly root: string
  readonly kernel: string
}

const here = import.meta.dirname

/** The image from the user's cache; without one it is made, for which root is needed and a mirror of Debian. */
export async function cachedImage(env: NodeJS.ProcessEnv): Promise<MachineImage> {
  const cache = cacheFolder('machines', env)
  const folder = join(cache, await recipeKey())
  const image = { root: join(folder, 'root.img'), kernel: join(folder, 'vmlinuz') }
  await mkdir(cache, { recursive: true })
  await withLock(`${folder}.lock`, async () => {
    if (await isThere(folder)) return
    const unfinished = await mkdtemp(join(cache, 'unfinished-'))
    try {
      await make(unfinished)
      await rename(unfinished, folder)
    } finally {
      await rm(unfinished, { recursive: true, force: true })
    }
  })
  return image
}

async function make(folder: string): Promise<void> {
  const done = showProgress('making the image of the virtual machine, about 2 min')
  try {
    await promisify(execFile)('sh', [join(here, 'recipe.sh'), folder], {
      maxBuffer: Number.POSITIVE_INFINITY,
    })
  } catch (error) {
    done('failed')
    throw error
  }
  done('made')
}

/** A hash over all that the recipe is made of, without the versions of Debian's packages. */
async function recipeKey(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(here, 'recipe.sh')))
  const entries = await readdir(join(here, 'guest'), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  for (const file of files.sort()) hash.update(`${file.slice(here.length)}\0`).update(await readFile(file))
  return hash.digest('hex').slice(0, 16)
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
