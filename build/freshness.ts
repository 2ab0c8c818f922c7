import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './programs.ts'

/** What a binary was made from, kept beside it. */
interface Stamp {
  readonly sources: readonly string[]
  readonly key: string
}

/**
 * A hash over the contents of the sources, and over `ingredients`: all else that decides what the binary is.
 *
 * @param sources paths from the repository's root.
 */
export async function contentKey(
  sources: readonly string[],
  ingredients: readonly string[],
): Promise<string> {
  const hash = createHash('sha256')
  for (const ingredient of ingredients) hash.update(`${ingredient}\0`)
  for (const source of sources) hash.update(`${source}\0`).update(await readFile(join(root, source)))
  return hash.digest('hex')
}

/**
 * Whether a binary was made from these ingredients and from sources that are still as they were.
 *
 * Its own list of sources is enough: a new source gets into the program only by a change to one that is on the list.
 */
export async function isFresh(stampFile: string, ingredients: readonly string[]): Promise<boolean> {
  try {
    const stamp: Stamp = JSON.parse(await readFile(stampFile, 'utf8'))
    return stamp.key === (await contentKey(stamp.sources, ingredients))
  } catch (error) {
    // No stamp, half a stamp or a source that is gone: all of them say "build".
    if (error instanceof SyntaxError || (error instanceof Error && 'code' in error)) return false
    throw error
  }
}

export async function stampText(sources: readonly string[], ingredients: readonly string[]): Promise<string> {
  const stamp: Stamp = { sources, key: await contentKey(sources, ingredients) }
  return JSON.stringify(stamp)
}
