/** Reads modules with edits made, before anything runs. */
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Edit, mutate } from './mutation.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** @returns the files that were read so, as far as they have been */
export function editModules(edits: readonly Edit[]): ReadonlySet<string> {
  const made = new Set<string>()
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.startsWith('file:') || loaded.source === undefined || loaded.source === null) return loaded
      const path = fileURLToPath(url)
      const mine = edits.filter(({ file }) => `${ROOT}${file}` === path)
      if (mine.length === 0) return loaded
      const { source } = loaded
      let text = typeof source === 'string' ? source : new TextDecoder().decode(source)
      for (const each of mine) {
        text = mutate(text, each)
        made.add(each.file)
      }
      return { ...loaded, source: text }
    },
  })
  return made
}
